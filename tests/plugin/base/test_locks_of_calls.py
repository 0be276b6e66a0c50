"""Waiting for locks counts into the call's budget, ends with its caller, and never waits for what hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin.base.budget import Budgets
from plugin.base.errors import CallerGone, HardwareHangs, LockTimeout
from plugin.base.in_flight import CallsInFlight
from plugin.base.locks import Locks


@pytest.fixture
def calls(clock: Any) -> CallsInFlight:
    return CallsInFlight(clock)


@pytest.fixture
def locks(tmp_path: Path, clock: Any, calls: CallsInFlight) -> Locks:
    return Locks(path=tmp_path / "lock", wait_s=40.0, clock=clock, sleep=clock.sleep, calls=calls)


@pytest.fixture
def budgets(clock: Any) -> Budgets:
    return Budgets(wait_s=40.0, holder_wait_s=5.0, clock=clock, sleep=clock.sleep)


@pytest.fixture
def hanging(locks: Locks, calls: CallsInFlight) -> Iterator[None]:
    """Another thread holds the lock of GPU 0, and is in a call that does not return."""
    at_work, go_on = threading.Event(), threading.Event()

    def work() -> None:
        with locks.hold("gpu-0", "GPU 0", "prepare claim default/a"), calls.noted("the call create"):
            at_work.set()
            go_on.wait()

    thread = threading.Thread(target=work)
    thread.start()
    at_work.wait()
    yield
    go_on.set()
    thread.join()


@pytest.mark.usefixtures("hanging")
def test_the_wait_for_several_locks_is_one_budget(locks: Locks, budgets: Budgets, clock: Any) -> None:
    budget = budgets.begin(remaining_s=9.0)
    clock.now += 3.0  # what the call has waited for already

    with (
        locks.hold("gpu-1", "GPU 1", "prepare claim default/b", budget),
        pytest.raises(LockTimeout, match=r"GPU 0 .* not released within 5 s; this process holds it to prep"),
    ):
        locks.hold("gpu-0", "GPU 0", "prepare claim default/b", budget).__enter__()

    assert clock.now == pytest.approx(8.0, abs=0.1)


@pytest.mark.usefixtures("hanging")
def test_who_hung_up_waits_for_no_lock(locks: Locks, budgets: Budgets, clock: Any) -> None:
    budget = budgets.begin(lambda: clock.now < 1.0)

    with pytest.raises(CallerGone, match="GPU 0 to prepare claim default/b: its caller gave up waiting"):
        locks.hold("gpu-0", "GPU 0", "prepare claim default/b", budget).__enter__()

    assert clock.now == pytest.approx(1.0, abs=0.1)


@pytest.mark.usefixtures("hanging")
def test_a_lock_whose_holder_hangs_is_refused_at_once_naming_the_call_and_its_age(
    locks: Locks, budgets: Budgets, clock: Any
) -> None:
    clock.now += 63.0

    with pytest.raises(HardwareHangs) as refusal:
        locks.hold("gpu-0", "GPU 0", "prepare claim default/b", budgets.begin()).__enter__()

    assert clock.slept == []
    assert refusal.value.retry
    assert (
        "GPU 0 to prepare claim default/b: this process holds it to prepare claim default/a, and the call "
        in (str(refusal.value))
    )
    assert "the call create has not returned for 63 s; it is retried" in str(refusal.value)


@pytest.mark.usefixtures("hanging")
def test_who_waits_when_a_call_begins_to_hang_gives_up_then(
    locks: Locks, budgets: Budgets, clock: Any
) -> None:
    with pytest.raises(HardwareHangs, match="has not returned for 10 s"):
        locks.hold("gpu-0", "GPU 0", "prepare claim default/b", budgets.begin()).__enter__()

    assert clock.now == pytest.approx(10.0, abs=0.1)


@pytest.mark.usefixtures("hanging")
def test_a_lock_that_is_free_is_had_although_time_is_up_and_something_hangs(
    locks: Locks, budgets: Budgets, clock: Any
) -> None:
    clock.now += 63.0

    with locks.hold("gpu-1", "GPU 1", "prepare claim default/b", budgets.begin(remaining_s=0.0)):
        pass

    assert clock.slept == []
