"""A call into hardware that never returns costs its own device, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import pytest

from agent.hardware.errors import TimedOut
from plugin.base.errors import HardwareHangs, LockTimeout
from plugin.machine.node import Node
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-0"


@dataclass
class Hang:
    """A bench with a claim whose call hangs since now."""

    bench: Any
    hanging: Future[Any]
    go_on: Event


@pytest.fixture
def hang(bench_of: Callable[..., Any]) -> Iterator[Hang]:
    """The creation of a GPU instance on GPU 0 for claim u1, which does not return."""
    at_work, go_on = Event(), Event()

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    bench = bench_of("a100x2", slow)
    bench.inject("gpu-0:create-gpu-instance:slow=3600:1")
    with ThreadPoolExecutor(1) as pool:
        try:
            hanging = pool.submit(bench.prepare, "u1", HALF)
            at_work.wait()
            yield Hang(bench, hanging, go_on)
        finally:
            go_on.set()


def test_the_gpus_other_claims_fail_at_once_naming_the_call_and_its_age(hang: Hang) -> None:
    bench = hang.bench
    bench.clock.now += 63.0

    with pytest.raises(HardwareHangs) as refusal:
        bench.prepare("u2", SMALL)

    assert bench.clock.slept == []
    assert refusal.value.claim_uid == "u2"
    assert refusal.value.retry
    assert "cannot lock GPU 0 " in str(refusal.value)
    assert "this process holds it to prepare claim u1" in str(refusal.value)
    assert "the call create_gpu_instance of the GPU driver has not returned for 63 s" in str(refusal.value)
    assert [record.claim_uid for record in bench.records()] == ["u1"]


@pytest.mark.parametrize("call", ["prepare", "unprepare"])
def test_the_claim_itself_fails_at_once_too(hang: Hang, call: str) -> None:
    hang.bench.clock.now += 63.0

    with pytest.raises(HardwareHangs, match=r"claim u1 to .* has not returned for 63 s"):
        getattr(hang.bench, call)("u1", *([HALF] if call == "prepare" else []))


def test_other_gpus_go_on(hang: Hang) -> None:
    hang.bench.clock.now += 63.0

    assert hang.bench.prepare("u2", "gpu-1-mig-3g-20gb-4-7")
    hang.bench.unprepare("u2")
    assert hang.bench.clock.slept == []


def test_a_call_that_is_slow_and_does_not_hang_is_waited_for(hang: Hang) -> None:
    bench = hang.bench
    ref = ClaimRef("default", "claim-u2")
    budget = bench.driver.budgets.begin(remaining_s=4.5)

    with (
        pytest.raises(LockTimeout, match="not released within 4 s"),
        bench.driver.opened(ClaimUid("u2"), ref, budget) as preparation,
    ):
        bench.driver.finish(preparation, bench.claim("u2", SMALL))

    assert bench.clock.now == pytest.approx(4.0, abs=0.1)


def test_when_the_call_returns_after_all_everything_goes_on(hang: Hang) -> None:
    bench = hang.bench
    bench.clock.now += 63.0

    hang.go_on.set()
    hang.hanging.result()

    assert bench.prepare("u2", SMALL)
    bench.unprepare("u2")
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_parked_claims_do_not_hang_beside_it(hang: Hang) -> None:
    bench = hang.bench
    bench.prepare("u2", "gpu-1-mig-3g-20gb-4-7")
    bench.inject("gpu-1:lost")
    bench.unprepare("u2")
    bench.clock.now += 63.0
    bench.simulated.reset_gpu(bench.uuid(1))

    bench.driver.parked.look_after()

    assert [record.claim_uid for record in bench.records()] == ["u1"]


def test_a_reading_of_the_node_that_hangs_is_not_waited_for_for_ever(bench_of: Callable[..., Any]) -> None:
    at_work, go_on = Event(), Event()

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    bench = bench_of("a100x2", slow)
    node = Node(bench.machine.readers, bench.node, "tangram.dev", reading_s=0.0)
    before = node.snapshot
    bench.inject("gpu-0:gpus:slow=3600:1")
    reading = Thread(target=node.read_again)
    reading.start()
    at_work.wait()

    with pytest.raises(TimedOut, match="another reading has not come to its end") as refusal:
        node.read_again()

    assert refusal.value.retry
    assert node.snapshot is before
    go_on.set()
    reading.join()
