"""Counted subproblems: so many devices of each column, at most one per limited group; against trying all."""

from dataclasses import replace

from hypothesis import given, settings
from random_subproblems import answers, contested_subproblem, counted_subproblems, equal_members

from scheduler_core.base.effort import Effort
from scheduler_core.engine.solve.component_view import ComponentView
from scheduler_core.engine.solve.counted import CountedSubproblem, LimitedGroup

MANY = settings(max_examples=300)


def keeps_the_limits(subproblem, picks):
    """Whether no limited group gives two devices of limited columns."""
    used = [
        subproblem.members[number].group
        for (number, _), column in zip(picks, subproblem.order, strict=True)
        if subproblem.limited[column] and subproblem.groups[subproblem.members[number].group].is_limited
    ]
    return len(set(used)) == len(used)


def first_answer(subproblem, states):
    return next((found for found in answers(subproblem, states) if keeps_the_limits(subproblem, found)), None)


@MANY
@given(counted_subproblems())
def test_it_fits_where_some_answer_exists(given_subproblem):
    subproblem, states = given_subproblem

    assert subproblem.fits(states) is (first_answer(subproblem, states) is not None)


@MANY
@given(counted_subproblems())
def test_the_first_answer_is_the_first_in_listed_order(given_subproblem):
    subproblem, states = given_subproblem

    assert subproblem.first(states) == first_answer(subproblem, states)


@MANY
@given(counted_subproblems())
def test_a_first_device_leaves_an_answer_where_the_counts_say_so(given_subproblem):
    subproblem, states = given_subproblem
    possible = {found[0] for found in answers(subproblem, states) if keeps_the_limits(subproblem, found)}

    for number, position in subproblem.candidates(states, 0, subproblem.start()):
        then = (*states[:number], states[number] | 1 << position, *states[number + 1 :])
        further = subproblem.step(subproblem.start(), 0, number)
        assert subproblem.reaches(then, further) is ((number, position) in possible)


@MANY
@given(counted_subproblems())
def test_asking_again_gives_the_same_answer(given_subproblem):
    subproblem, states = given_subproblem

    first = subproblem.first(states), subproblem.fits(states)

    assert (subproblem.first(states), subproblem.fits(states)) == first


def test_a_device_that_only_one_request_can_use_is_kept_for_it():
    assert contested_subproblem().first((0, 0)) == ((1, 0), (0, 0))


def test_of_equal_components_one_in_each_limited_group_is_tried():
    first, other, last = equal_members((0, 0, 1))
    only_second = ComponentView(other.view.tables, (0, 1), Effort())
    only_first = ComponentView(first.view.tables, (1, 0), Effort())
    members = (
        replace(first, view=only_first),
        replace(other, view=only_second),
        replace(last, view=only_first),
    )
    groups = (LimitedGroup((0, 1), is_limited=True), LimitedGroup((2,), is_limited=True))

    subproblem = CountedSubproblem(members, groups, (0, 1), (True, True), Effort())

    assert subproblem.first((0, 0, 0)) == ((2, 0), (1, 0))


def test_of_equal_components_a_limited_and_a_free_one_are_both_tried():
    members = equal_members((0, 1), size=2)
    groups = (LimitedGroup((0,), is_limited=False), LimitedGroup((1,), is_limited=True))

    subproblem = CountedSubproblem(members, groups, (1, 0, 0, 0), (True, False), Effort())

    assert subproblem.first((0, 0)) == ((1, 0), (0, 0), (0, 1), (1, 1))
