"""Steps of a decision: no step passes the bound, and an inner bound never widens an outer one."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.effort import Effort, EffortExceeded

COUNTS = st.lists(st.integers(0, 5), max_size=10)
LIMITS = st.lists(st.integers(0, 20), min_size=1, max_size=4)


@given(COUNTS, st.integers(0, 30))
def test_steps_are_counted_until_they_pass_the_bound(counts, most):
    effort = Effort(most=most)
    fitting = [count for number, count in enumerate(counts) if sum(counts[: number + 1]) <= most]

    for count in fitting:
        effort.step(count)

    assert effort.steps == sum(fitting)
    if len(fitting) < len(counts):
        with pytest.raises(EffortExceeded) as exceeded:
            effort.step(counts[len(fitting)])
        assert exceeded.value.limit == most


def steps_within(effort, limits):
    """Count steps within nested limits until one is passed."""
    if limits:
        with effort.within(limits[0]):
            return steps_within(effort, limits[1:])
    while True:
        effort.step()


@given(LIMITS, st.integers(0, 5), st.integers(0, 25) | st.just(inf))
def test_of_nested_limits_the_tightest_holds(limits, before, left):
    effort = Effort(steps=before, most=before + left)

    with pytest.raises(EffortExceeded):
        steps_within(effort, limits)

    assert effort.steps - before == min(*limits, left) + 1
    assert effort.most == before + left, "the outer bound stands again"


@given(LIMITS, st.integers(0, 5))
def test_what_was_allowed_is_said_and_not_the_count_at_which_it_ended(limits, before):
    effort = Effort(steps=before)

    with pytest.raises(EffortExceeded) as exceeded:
        steps_within(effort, limits)

    assert exceeded.value.limit == min(limits)


@given(st.integers(0, 20), st.integers(0, 20))
def test_steps_within_a_limit_count_outside_too(limit, count):
    effort = Effort()

    with effort.within(limit):
        effort.step(min(limit, count))

    assert effort == Effort(steps=min(limit, count))
