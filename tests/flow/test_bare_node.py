"""A node without a driver idles, and works as soon as there is one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.errors import DriverMissing
from agent.hardware.late import LateGpus
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedGpus
from agent.hardware.types import Gpu
from plugin.assembly import assemble
from plugin.claim.claim_directory import ClaimDirectory
from plugin.kubelet.server import start

HALF = "gpu-0-mig-3g-20gb-4-7"
NOTHING = """
name: nothing
summary: neither a GPU nor a NIC
topology: illustrative
driver: null
numa: [{node: 0, socket: 0, cpus: "0-15", distances: [10]}]
pci: []
"""


class Session(SimulatedGpus):
    """Simulated GPUs that are opened and closed as a driver is."""

    has_ended = False

    def count(self) -> int:
        return len(self.gpus())

    def gpu(self, index: int) -> Gpu:
        found = self.gpus()[index]
        assert isinstance(found, Gpu)
        return found

    def within(self, longest_s: float) -> Session:
        return self

    def close(self) -> None:
        pass


def test_a_driver_that_comes_later_serves_the_next_claim(site: Any, kubelet_of: Callable[..., Any]) -> None:
    has_driver = False

    def opened() -> Session:
        if not has_driver:
            raise DriverMissing("initialise", "NVML", "no library")
        return Session(site.simulated.gpus.calls)

    machine = replace(simulated_hardware(site.simulated), gpus=LateGpus(opened))
    driver = assemble(machine, site.options, clock=time.monotonic, sleep=time.sleep)
    claim = site.allocate("u1", HALF)
    with start(driver, ClaimDirectory(site.claims_dir), site.options):
        kubelet = kubelet_of(site)
        refused = kubelet.prepare(claim)["u1"].error

        has_driver = True

        assert "this node has no such device" in refused
        assert [device for device, _ in kubelet.devices(claim)] == [HALF]


@pytest.fixture
def site_of_nothing(folder: Path, site_of: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine with neither a GPU nor a NIC, as a node file says it."""
    (folder / "nothing.yaml").write_text(NOTHING)
    monkeypatch.chdir(folder)
    return site_of("nothing.yaml")


def test_on_a_machine_without_gpus_and_nics_the_plugin_serves_and_has_nothing_to_prepare(
    site_of_nothing: Any, kubelet_of: Callable[..., Any]
) -> None:
    with site_of_nothing.start():
        kubelet = kubelet_of(site_of_nothing)
        claim = site_of_nothing.allocate("u1", "gpu-0")

        refused = kubelet.prepare(claim)["u1"].error

        assert "this node has no such device" in refused
        kubelet.undone(claim)
        assert site_of_nothing.leftovers() == []


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a driver")
def test_the_program_serves_on_a_machine_without_a_driver(site: Any, kubelet_of: Callable[..., Any]) -> None:
    command = [
        *(sys.executable, "-m", "plugin", "--claims", site.claims_dir, "--node-name", site.node),
        *("--kubelet-dir", site.options.kubelet_dir, "--cdi-dir", site.options.cdi_dir),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert any("serves" in line for line in process.stderr)
            kubelet = kubelet_of(site)
            refused = kubelet.prepare(site.allocate("u1", "gpu-0"))["u1"].error
        finally:
            process.terminate()
        assert process.wait() == 0

    assert "gpu-0" in refused
    assert "this node has no such device" in refused
