"""A call that has not returned can be named, by whoever would wait for it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from plugin.base.in_flight import HUNG_AFTER_S, CallsInFlight


@pytest.fixture
def calls(clock: Any) -> CallsInFlight:
    return CallsInFlight(clock)


def test_a_call_is_known_by_its_thread_and_age_until_it_returns(calls: CallsInFlight, clock: Any) -> None:
    thread = threading.get_ident()

    with calls.noted("the call reset of the GPU driver"):
        clock.now += 63.4
        found = calls.of_thread(thread)

    assert str(found) == "the call reset of the GPU driver has not returned for 63 s"
    assert calls.of_thread(thread) is None
    assert calls.all() == ()


def test_a_call_that_raises_has_returned(calls: CallsInFlight) -> None:
    with pytest.raises(ValueError, match="refused"), calls.noted("the call"):
        raise ValueError("refused")

    assert calls.all() == ()


@pytest.mark.parametrize(("age_s", "is_hung"), [(HUNG_AFTER_S - 0.1, False), (HUNG_AFTER_S, True)])
def test_a_call_hangs_once_it_takes_longer_than_any_that_returns(
    calls: CallsInFlight, clock: Any, age_s: float, is_hung: bool
) -> None:
    with calls.noted("the call"):
        clock.now += age_s
        (found,) = calls.all()

    assert found.is_hung is is_hung


def test_a_call_may_be_known_to_take_longer(calls: CallsInFlight, clock: Any) -> None:
    with calls.noted("the call set_vf_count of the kernel", 60.0):
        clock.now += 59.0
        (young,) = calls.all()
        clock.now += 1.0
        (old,) = calls.all()

    assert (young.is_hung, old.is_hung) == (False, True)


def test_the_oldest_call_of_all_threads_is_named_first(calls: CallsInFlight, clock: Any) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def older() -> None:
        with calls.noted("older"):
            begun.set()
            go_on.wait()

    thread = threading.Thread(target=older)
    thread.start()
    begun.wait()
    clock.now += 1.0
    with calls.noted("younger"):
        found = [call.what for call in calls.all()]
    go_on.set()
    thread.join()

    assert found == ["older", "younger"]
