"""Through the kubelet's socket: a device that is free a moment after the call still serves the call."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.claim.claim_directory import ClaimDirectory
from plugin.kubelet.server import start

HALF = "gpu-0-mig-3g-20gb-4-7"


def test_the_claim_after_a_pod_that_was_forced_away_gets_its_device_in_the_same_call(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    waits = Event()
    options = replace(site.options, holder_wait_s=14.0, device_wait_s=0.0)
    driver = site.driver(options, sleep=lambda _: waits.set())
    old, new = site.allocate("u1", HALF), site.allocate("u2", HALF)

    with start(driver, ClaimDirectory(site.claims_dir), options), ThreadPoolExecutor(1) as pool:
        kubelet = kubelet_of(site)
        kubelet.devices(old)
        prepared = pool.submit(kubelet_of(site).devices, new)
        waits.wait()
        kubelet.undone(old)

        assert prepared.result() == [(HALF, f"tangram.dev/claim=u2-{HALF}")]
        kubelet.undone(new)

    assert site.leftovers() == []


def test_a_kubelet_that_hangs_up_ends_the_wait(site: Any, kubelet_of: Callable[..., Any]) -> None:
    waits, hung_up = Event(), Event()
    moments: list[float] = []

    def sleep(seconds: float) -> None:
        waits.set()
        hung_up.wait()
        moments.append(seconds)
        time.sleep(seconds)

    options = replace(site.options, holder_wait_s=14.0, device_wait_s=0.0)
    driver = site.driver(options, sleep=sleep)
    old, new = site.allocate("u1", HALF), site.allocate("u2", HALF)

    with start(driver, ClaimDirectory(site.claims_dir), options):
        kubelet = kubelet_of(site)
        kubelet.devices(old)
        call = kubelet.dra().NodePrepareResources.future(v1.NodePrepareResourcesRequest(claims=[new]))
        waits.wait()
        call.cancel()
        hung_up.set()
        wanted = options.claims_dir / "u2.json"
        while wanted.exists():
            waits.clear()
            waits.wait(0.01)

    assert sum(moments) < options.holder_wait_s / 2
    assert [path.name for path in options.claims_dir.iterdir()] == ["u1.json"]
