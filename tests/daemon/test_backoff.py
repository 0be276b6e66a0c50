"""Prompt the first time, ever slower for whoever keeps undoing our work."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from daemon.backoff import Backoff, Throttle

THROTTLE = Throttle(first=0.2, most=30.0, calm=60.0)


def test_the_first_turn_is_prompt():
    assert THROTTLE.due(100.0) == 100.2


def test_turns_that_follow_each_other_wait_twice_as_long_each_up_to_the_most():
    throttle, now, gaps = THROTTLE, 0.0, []
    for _ in range(12):
        throttle = throttle.taken(now)
        due = throttle.due(now)
        gaps.append(round(due - now, 3))
        now = due

    assert gaps[:4] == [0.2, 0.4, 0.8, 1.6]
    assert gaps[-1] == 30.0


def test_after_a_calm_time_the_next_turn_is_prompt_again():
    throttle = THROTTLE
    for now in range(10):
        throttle = throttle.taken(float(now))

    assert throttle.due(9.0 + 61.0) == 70.2


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_a_turn_is_never_due_in_the_past_nor_later_than_the_most(waits):
    throttle, now = THROTTLE, 0.0
    for wait in waits:
        now += wait
        assert now <= throttle.due(now) <= now + THROTTLE.most
        throttle = throttle.taken(now)


def test_failures_wait_longer_each_time_and_never_beyond_the_most():
    backoff, waits = Backoff(first=0.5, most=10.0), []
    for _ in range(40):
        backoff = backoff.failed()
        waits.append(backoff.wait(spread=1.0))

    assert waits[:5] == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert max(waits) == 10.0


def test_a_server_that_asks_for_time_gets_it():
    assert Backoff().failed().wait(spread=0.0, least=45.0) == 45.0


def test_many_that_failed_at_once_come_back_at_different_times():
    failed = Backoff().failed()

    assert failed.wait(spread=0.0) == failed.wait(spread=1.0) / 2


def test_without_a_spread_the_wait_is_the_full_one():
    assert Backoff(first=1.0, most=60.0, failures=3).wait() == 4.0


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 100))
def test_a_wait_lies_between_half_and_all_of_the_doubled_one_unless_more_is_asked_for(
    failures, spread, least
):
    full = Backoff(failures=failures).wait()

    waited = Backoff(failures=failures).wait(spread, least)

    assert max(full / 2, least) <= waited <= max(full, least)
