"""Through the kubelet's socket: a device that is free a moment after the call still serves the call."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

from plugin.claim_directory import ClaimDirectory
from plugin.server import start

HALF = "gpu-0-mig-3g-20gb-4-7"


def test_the_claim_after_a_pod_that_was_forced_away_gets_its_device_in_the_same_call(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    waits = Event()
    options = replace(site.options, holder_wait_s=14.0)
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
