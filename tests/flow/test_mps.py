"""Claims under MPS over the kubelet's sockets: their daemons outlive the plugin's process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from agent.hardware.mps.ports import daemon_name
from agent.hardware.open import simulated_hardware
from agent.hardware.types import ComputeMode

MPS = {"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 40}}
V1 = "tangram.dev/v1alpha1"
NVIDIA = "resource.nvidia.com/v1beta1"
HALF = "gpu-0-mig-3g-20gb-4-7"


@pytest.fixture
def daemons(site: Any) -> Iterator[Any]:
    """The daemons of the site; none outlives the test."""
    control = simulated_hardware(site.simulated).mps
    yield control
    for name in control.names():
        control.end_daemon(name)


def gpu_claim(site: Any, version: str = V1) -> Any:
    parameters = {"apiVersion": version, "kind": "GpuConfig", "sharing": MPS}
    return site.allocate("u1", "gpu-0", parameters=parameters)


def name_of(site: Any, minor: int = 0) -> str:
    return daemon_name(site.simulated.node.cards[minor].uuid)


def pid(daemons: Any, name: str) -> int:
    return int((daemons.folders(name).pipe / "nvidia-cuda-mps-control.pid").read_text())


@pytest.mark.parametrize("version", [V1, NVIDIA])
def test_a_claim_is_answered_once_its_daemon_answers(
    site: Any, kubelet: Any, daemons: Any, version: str
) -> None:
    claim = gpu_claim(site, version)

    answered = kubelet.devices(claim)

    assert answered == [("gpu-0", "tangram.dev/claim=u1-gpu-0")]
    assert daemons.answers(name_of(site))
    kubelet.undone(claim)
    assert site.leftovers() == []


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_outlives_its_plugin_and_the_next_one_adopts_it(
    site: Any, kubelet_of: Callable[..., Any], daemons: Any, ending: signal.Signals
) -> None:
    claim = gpu_claim(site)
    with site.process() as process:
        first = kubelet_of(site).devices(claim)
        process.send_signal(ending)
        process.wait()
    number = pid(daemons, name_of(site))

    with site.process():
        kubelet = kubelet_of(site)
        assert daemons.is_running(name_of(site))
        assert kubelet.devices(claim) == first
        assert pid(daemons, name_of(site)) == number
        kubelet.undone(claim)

    assert site.leftovers() == []


def test_a_daemon_that_died_without_a_plugin_is_started_by_the_next_one(
    site: Any, kubelet_of: Callable[..., Any], daemons: Any
) -> None:
    claim = gpu_claim(site)
    with site.process():
        kubelet_of(site).devices(claim)
    os.kill(pid(daemons, name_of(site)), signal.SIGKILL)

    with site.process():
        assert daemons.answers(name_of(site))
        kubelet_of(site).undone(claim)

    assert site.leftovers() == []


@pytest.mark.parametrize("death", ["gpu-0:set-compute-mode:kill-before", "gpu-0:set-compute-mode:kill-after"])
@pytest.mark.parametrize("deed", ["prepare", "unprepare"])
def test_killed_while_it_changes_the_compute_mode(
    site: Any, kubelet_of: Callable[..., Any], death: str, deed: str
) -> None:
    claim = gpu_claim(site)
    with site.process() as process:
        kubelet = kubelet_of(site)
        if deed == "unprepare":
            kubelet.devices(claim)
        site.inject(death)
        with pytest.raises(grpc.RpcError):
            getattr(kubelet, deed)(claim)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        after_start = site.leftovers()
        kubelet = kubelet_of(site)
        kubelet.devices(claim)
        mode = site.simulated.gpus.compute_mode(site.simulated.node.cards[0].uuid)
        kubelet.undone(claim)

    assert after_start == []
    assert mode is ComputeMode.EXCLUSIVE_PROCESS
    assert site.leftovers() == []


def test_a_mig_partition_under_mps_and_a_plain_one_lie_on_one_gpu(
    site: Any, kubelet: Any, daemons: Any
) -> None:
    parameters = {"apiVersion": V1, "kind": "MigConfig", "sharing": MPS}
    under_mps = site.allocate("u1", HALF, parameters=parameters)
    plain = site.allocate("u2", "gpu-0-mig-1g-5gb-0")

    kubelet.devices(under_mps)
    kubelet.devices(plain)

    assert len(daemons.names()) == 1
    kubelet.undone(under_mps)
    assert daemons.names() == ()
    kubelet.undone(plain)
    assert site.leftovers() == []


def test_a_limit_above_the_memory_is_refused_and_nothing_is_changed(site: Any, kubelet: Any) -> None:
    sharing = {"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "41Gi"}}
    claim = site.allocate(
        "u1", "gpu-0", parameters={"apiVersion": V1, "kind": "GpuConfig", "sharing": sharing}
    )

    error = kubelet.prepare(claim)["u1"].error

    assert "defaultPinnedDeviceMemoryLimit: 41Gi: must be at most 40Gi, the memory of the device" in error
    assert site.leftovers() == []


def test_the_log_of_a_daemon_is_where_its_folder_says(site: Any, kubelet: Any, daemons: Any) -> None:
    claim = gpu_claim(site)
    kubelet.devices(claim)

    log: Path = daemons.folders(name_of(site)).log / "control.log"

    assert "Starting control daemon using socket" in log.read_text()
    kubelet.undone(claim)
