"""Calls are paced, delays grow and are spread, and limits are checked when they are made."""

from __future__ import annotations

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_api import Clock

from kube_api import Limits
from kube_api.pacing import Backoff, TokenBucket


@given(st.lists(st.floats(0.0, 3.0), max_size=60), st.integers(1, 5), st.sampled_from([0.5, 2.0, 10.0]))
def test_no_more_calls_leave_than_burst_and_rate_allow(pauses: list[float], burst: int, rate: float) -> None:
    clock = Clock(now=0.0)
    bucket = TokenBucket(rate, burst, clock)

    left: list[float] = []
    for pause in pauses:
        clock.now += pause
        clock.now += bucket.reserve()
        left.append(clock.now)

    assert all(len([at for at in left if at <= moment]) <= burst + rate * moment + 1e-6 for moment in left)


def test_a_clock_that_goes_back_gives_no_calls_away() -> None:
    clock = Clock(now=100.0)
    bucket = TokenBucket(1.0, 1, clock)
    assert bucket.take()

    clock.now = 0.0

    assert not bucket.take()


def test_threads_share_one_rate() -> None:
    bucket = TokenBucket(1.0, 50, Clock())
    waits: list[float] = []
    threads = [Thread(target=lambda: waits.extend(bucket.reserve() for _ in range(20))) for _ in range(5)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(waits) == [0.0] * 50 + [float(second) for second in range(1, 51)]


@given(st.floats(0.0, 1.0, exclude_max=True), st.integers(0, 2000))
def test_a_delay_lies_in_the_upper_half_of_its_doubling_step(random: float, failures: int) -> None:
    backoff = Backoff(0.1, 30.0, lambda: random)
    for _ in range(failures):
        backoff.next()

    delay = backoff.next()

    step = min(30.0, 0.1 * 2.0 ** min(failures, 40))
    assert step / 2 <= delay <= step


def test_a_delay_is_short_again_after_a_success() -> None:
    backoff = Backoff(1.0, 30.0, lambda: 0.0)
    backoff.next()
    backoff.next()

    backoff.reset()

    assert backoff.next() == 0.5


@pytest.mark.parametrize("name", ["calls_per_s", "burst", "attempts", "read_timeout_s", "watch_idle_s"])
def test_a_limit_that_would_stop_everything_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"limit {name} is 0, it must be above 0"):
        Limits(**{name: 0})  # type: ignore[arg-type]
