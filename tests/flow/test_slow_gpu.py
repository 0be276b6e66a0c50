"""One slow GPU delays nobody else."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import Any


def test_seven_gpus_are_prepared_and_undone_while_the_eighth_is_still_at_it(
    site_of: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    at_work, go_on = Event(), Event()

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    site = site_of("dgx-a100", slow)
    site.inject("gpu-0:create-gpu-instance:slow=60:1")
    claims = [site.allocate(f"u{minor}", f"gpu-{minor}-mig-3g-20gb-4-7") for minor in range(8)]
    order: list[str] = []

    def call(claim: Any) -> None:
        kubelet = kubelet_of(site)
        assert len(kubelet.devices(claim)) == 1
        order.append(claim.uid)

    with site.start(), ThreadPoolExecutor(8) as pool:
        eighth = pool.submit(call, claims[0])
        at_work.wait()
        for done in as_completed([pool.submit(call, claim) for claim in claims[1:]]):
            done.result()
        kubelet = kubelet_of(site)
        for claim in claims[1:]:
            kubelet.undone(claim)
        assert kubelet.info().name == "tangram.dev"
        assert not eighth.done()
        go_on.set()
        eighth.result()
        kubelet.undone(claims[0])

    assert order[-1] == "u0"
    assert len(order) == 8
    assert site.leftovers() == []


def test_a_slow_undoing_delays_no_other_gpu_either(
    site_of: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    at_work, go_on = Event(), Event()

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    site = site_of("a100x2", slow)
    slow_claim, other = site.allocate("slow", "gpu-0-mig-3g-20gb-4-7"), site.allocate("other", "gpu-1")

    with site.start(), ThreadPoolExecutor(1) as pool:
        kubelet = kubelet_of(site)
        kubelet.devices(slow_claim)
        site.inject("gpu-0:destroy-gpu-instance:slow=60:1")
        undoing = pool.submit(kubelet_of(site).undone, slow_claim)
        at_work.wait()
        assert len(kubelet.devices(other)) == 1
        kubelet.undone(other)
        assert not undoing.done()
        go_on.set()
        undoing.result()

    assert site.leftovers() == []
