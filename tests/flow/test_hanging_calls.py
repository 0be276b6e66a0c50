"""Through the sockets: a call into hardware that never returns, and the end of a process that made it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import grpc
import pytest

from agent.hardware.open import simulated_hardware
from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.assembly import assemble
from plugin.claim.claim_directory import ClaimDirectory
from plugin.kubelet.server import start

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-0"


@dataclass
class Later:
    """A clock that can be put forward."""

    ahead_s: float = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s

    def sleep(self, seconds: float) -> None:
        self.ahead_s += seconds


def test_the_kubelet_hears_at_once_what_hangs_and_other_gpus_go_on(
    site_of: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    at_work, go_on, clock = Event(), Event(), Later()

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    site = site_of("a100x2", slow)
    site.inject("gpu-0:create-gpu-instance:slow=3600:1")
    stuck, same, other = site.allocate("u1", HALF), site.allocate("u2", SMALL), site.allocate("u3", "gpu-1")
    driver = assemble(simulated_hardware(site.simulated), site.options, clock=clock, sleep=time.sleep)

    with start(driver, ClaimDirectory(site.claims_dir), site.options), ThreadPoolExecutor(1) as pool:
        kubelet = kubelet_of(site)
        hanging = pool.submit(kubelet_of(site).devices, stuck)
        at_work.wait()
        clock.ahead_s = 3600.0
        entries = kubelet.prepare(stuck, same, other)
        go_on.set()
        hanging.result()

    for claim in (stuck, same):
        assert "create_gpu_instance of the GPU driver has not returned for 3600 s" in entries[claim.uid].error
    assert entries["u3"].error == ""
    assert [device.device_name for device in entries["u3"].devices] == ["gpu-1"]


def test_a_call_that_the_kubelet_cancelled_ends_its_wait_for_a_lock(
    site_of: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    at_work, go_on, waits = Event(), Event(), Event()

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    def sleep(seconds: float) -> None:
        waits.set()
        time.sleep(seconds)

    site = site_of("a100x2", slow)
    site.inject("gpu-0:create-gpu-instance:slow=3600:1")
    first, second = site.allocate("u1", HALF), site.allocate("u2", SMALL)
    driver = site.driver(sleep=sleep)

    with start(driver, ClaimDirectory(site.claims_dir), site.options), ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(kubelet_of(site).devices, first)
        at_work.wait()
        request = v1.NodePrepareResourcesRequest(claims=[second])
        call = kubelet_of(site).dra().NodePrepareResources.future(request)
        waits.wait()
        call.cancel()
        while (site.options.claims_dir / "u2.json").exists():  # it goes when the wait has ended
            waits.clear()
            waits.wait(0.01)
        assert not hanging.done()
        go_on.set()
        hanging.result()

    assert [path.name for path in site.options.claims_dir.iterdir()] == ["u1.json"]


def test_a_deadline_of_the_kubelet_ends_the_wait_before_the_call_ends_with_the_holders_name(
    site_of: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    site, clock = site_of("a100x2"), Later()
    options = replace(site.options, holder_wait_s=40.0)
    first, second = site.allocate("u1", HALF), site.allocate("u2", HALF)
    driver = assemble(simulated_hardware(site.simulated), options, clock=clock, sleep=clock.sleep)

    with start(driver, ClaimDirectory(site.claims_dir), options):
        kubelet = kubelet_of(site)
        kubelet.devices(first)
        request = v1.NodePrepareResourcesRequest(claims=[second])
        answer = kubelet.dra().NodePrepareResources(request, timeout=36.0)

    assert "default/claim-u1" in answer.claims["u2"].error
    assert 16.0 < clock.ahead_s < 32.1  # eight ninths of 36 s, and the last look


def test_sigterm_ends_a_process_whose_hardware_hangs_within_its_grace(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    claim, other = site.allocate("u1", HALF), site.allocate("u2", "gpu-1")
    site.inject("gpu-0:create-gpu-instance:slow=3600:1")
    with site.process("--grace-period", "0.5") as process:
        kubelet = kubelet_of(site)
        kubelet.devices(other)
        request = v1.NodePrepareResourcesRequest(claims=[claim])
        call = kubelet.dra().NodePrepareResources.future(request)
        while site.simulated.faults():  # the call takes the fault with it
            kubelet.info()
        process.send_signal(signal.SIGTERM)

        status = process.wait(timeout=30)
        said = process.stderr.read()
        with pytest.raises(grpc.RpcError):
            call.result()

    assert status == 0
    assert "the plugin ends before its work does: the call create_gpu_instance of the GPU driver" in said
    with site.start():
        kubelet = kubelet_of(site)
        kubelet.undone(claim)
        kubelet.undone(other)
    assert site.leftovers() == []


def test_sigterm_ends_a_process_that_hangs_at_its_start(site: Any) -> None:
    site.inject("gpu-0:gpus:slow=3600:1")
    with site.process_that_starts("--grace-period", "0.5") as process:
        while site.simulated.faults():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=30) == 0
