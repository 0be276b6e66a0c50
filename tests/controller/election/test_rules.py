"""What one process may conclude from each answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.election import state as rules
from controller.election.state import Create, Read, Renew, State, Take, Wait
from controller.election.values import Lease, Times, Window

TIMES = Times(lease_s=15.0, longest_write_s=5.0, renew_every_s=3.0)
START = State(identity="me", times=TIMES)
OTHERS = Lease("other", 15.0, "7")
MINE = Lease("me", 15.0, "8")


def holding(sent_at: float = 100.0, answered_at: float = 101.0) -> State:
    """Return the state of a process that took over a Lease that was given back."""
    seen = rules.found(START, Lease("", 15.0, "7"), sent_at)
    return rules.written(seen, MINE, sent_at, answered_at)


def test_the_time_to_write_counts_from_before_the_renewal_was_sent() -> None:
    assert holding(100.0, 101.0).window == Window(101.0, 100.0 + TIMES.usable_s)
    assert TIMES.usable_s < TIMES.lease_s - TIMES.longest_write_s


def test_a_holder_is_waited_out_from_when_its_last_renewal_was_seen() -> None:
    seen = rules.found(START, OTHERS, 50.0)
    again = rules.found(seen, OTHERS, 64.0)

    assert rules.next_step(replace(again, next_at_s=0.0), 64.9) == Read()
    assert rules.next_step(again, 64.9) == Wait(65.0)
    assert rules.next_step(again, 65.0) == Take(OTHERS)


def test_each_renewal_that_is_seen_starts_the_wait_again() -> None:
    seen = rules.found(rules.found(START, OTHERS, 50.0), replace(OTHERS, version="9"), 64.0)

    assert not isinstance(rules.next_step(seen, 78.9), Take)
    assert rules.next_step(seen, 79.0) == Take(replace(OTHERS, version="9"))


def test_a_holder_that_lives_by_a_longer_lease_is_given_that_time() -> None:
    seen = rules.found(START, replace(OTHERS, lasts_s=60.0), 50.0)

    assert not isinstance(rules.next_step(seen, 109.9), Take)
    assert isinstance(rules.next_step(seen, 110.0), Take)


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    seen = rules.found(START, Lease("", 15.0, "7"), 50.0)

    assert rules.next_step(seen, 50.0) == Take(Lease("", 15.0, "7"))
    assert rules.written(seen, MINE, 50.0, 51.0).window.opens_at_s == 51.0


def test_who_makes_a_missing_lease_waits_for_the_holder_of_the_one_before() -> None:
    absent = rules.found(START, None, 50.0)

    assert rules.next_step(absent, 50.0) == Create()
    assert rules.written(absent, MINE, 50.0, 51.0).window.opens_at_s == 51.0 + TIMES.lease_s


def test_so_does_who_takes_a_lease_that_nobody_has_held_yet() -> None:
    seen = rules.found(START, Lease("", 0.0, "1"), 50.0)

    assert rules.written(seen, MINE, 50.0, 51.0).window.opens_at_s == 51.0 + TIMES.lease_s


def test_so_does_who_may_have_made_it_and_got_no_answer() -> None:
    unsure = rules.unanswered(rules.found(START, None, 50.0), 55.0)
    seen = rules.found(unsure, Lease("me", 15.0, "1"), 57.0)

    assert rules.next_step(seen, 57.0) == Take(Lease("me", 15.0, "1"))
    assert rules.written(seen, MINE, 57.0, 58.0).window.opens_at_s == 58.0 + TIMES.lease_s


def test_a_lease_whose_holder_was_waited_out_is_written_under_at_once() -> None:
    absent = rules.unanswered(rules.found(START, None, 10.0), 11.0)
    seen = rules.found(absent, OTHERS, 50.0)

    assert rules.written(seen, MINE, 65.0, 66.0).window.opens_at_s == 66.0


def test_a_renewal_without_an_answer_gives_no_time_and_is_repeated_on_what_is_read() -> None:
    held = holding(100.0)
    unsure = rules.unanswered(held, 108.0)
    seen = rules.found(unsure, Lease("me", 15.0, "9"), 110.0)

    assert unsure.window.closes_at_s == seen.window.closes_at_s == held.window.closes_at_s
    assert rules.next_step(unsure, unsure.next_at_s) == Read()
    assert rules.next_step(seen, 110.0) == Renew(Lease("me", 15.0, "9"))


@pytest.mark.parametrize("lease", [OTHERS, Lease("", 15.0, "9"), None])
def test_a_lease_that_does_not_name_this_process_closes_its_window_at_once(lease: Lease | None) -> None:
    held = holding(100.0, 101.0)
    assert held.window.is_open(102.0)

    assert not rules.found(rules.unanswered(held, 101.5), lease, 102.0).window.is_open(102.0)


def test_only_a_lease_under_which_this_process_could_write_is_given_back() -> None:
    fresh = rules.written(rules.found(START, None, 50.0), MINE, 50.0, 51.0)

    assert rules.to_release(fresh, 60.0) is None
    assert rules.to_release(fresh, 51.0 + TIMES.lease_s) == MINE
    assert rules.to_release(rules.found(fresh, OTHERS, 70.0), 80.0) is None


@pytest.mark.parametrize("wrong", [{"lease_s": 10.0}, {"longest_write_s": 9.0}, {"renew_every_s": 0.0}])
def test_times_that_leave_no_room_for_a_second_renewal_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must leave room for two renewals|must be above 0"):
        Times(**wrong)
