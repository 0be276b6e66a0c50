"""All that one call waits for counts together, and ends with its caller."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin.base.budget import Budgets, waiting_time

SECONDS = st.floats(min_value=0.0, max_value=1e6)


@pytest.fixture
def budgets(clock: Any) -> Budgets:
    return Budgets(wait_s=40.0, holder_wait_s=5.0, clock=clock, sleep=clock.sleep)


@given(SECONDS, st.none() | st.floats(min_value=-1e6, max_value=1e6))
def test_a_call_never_waits_longer_than_its_caller_nor_than_it_may(
    wait_s: float, remaining_s: float | None
) -> None:
    found = waiting_time(wait_s, remaining_s)

    assert 0.0 <= found <= wait_s
    assert remaining_s is None or found <= max(0.0, remaining_s)


def test_of_the_kubelets_45_seconds_five_are_left_for_the_answer() -> None:
    assert waiting_time(60.0, 45.0) == pytest.approx(40.0)


def test_without_a_deadline_a_call_waits_as_long_as_it_may(budgets: Budgets, clock: Any) -> None:
    budget = budgets.begin()

    while budget.rest(1.0):
        pass

    assert clock.now == 40.0
    assert budget.left_s == 0.0


def test_waiting_for_other_claims_is_a_part_of_it(budgets: Budgets, clock: Any) -> None:
    budget = budgets.begin()

    while budget.for_holders().rest(1.0):
        pass

    assert clock.now == 5.0
    assert budget.left_s == 35.0
    assert budgets.begin(remaining_s=1.8).for_holders().left_s == pytest.approx(1.6)


def test_nobody_rests_for_a_caller_that_hung_up(budgets: Budgets, clock: Any) -> None:
    assert not budgets.begin(lambda: False).rest(1.0)
    assert clock.slept == []
