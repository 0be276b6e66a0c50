"""Bundled subproblems: the devices of a bundle come from one group of components; against trying all."""

from hypothesis import given, settings
from random_subproblems import answers, bundled_subproblems, equal_members

from scheduler_core.base.effort import Effort
from scheduler_core.engine.solve.bundled import LOOSE, BundledSubproblem

MANY = settings(max_examples=300)


def keeps_bundles(subproblem, owners, holding, picks):
    """Whether each bundle has devices of one group, and of one that may hold bundles."""
    groups = {}
    for (number, _), owner in zip(picks, owners, strict=True):
        if owner != LOOSE:
            groups.setdefault(owner, set()).add(subproblem.members[number].group)
    return all(len(found) == 1 and max(found) < holding for found in groups.values())


def first_answer(given_subproblem):
    subproblem, owners, holding, states = given_subproblem
    return next(
        (found for found in answers(subproblem, states) if keeps_bundles(subproblem, owners, holding, found)),
        None,
    )


@MANY
@given(bundled_subproblems())
def test_it_fits_where_some_answer_exists(given_subproblem):
    subproblem, _, _, states = given_subproblem

    assert subproblem.fits(states) is (first_answer(given_subproblem) is not None)


@MANY
@given(bundled_subproblems())
def test_the_first_answer_is_the_first_in_listed_order(given_subproblem):
    subproblem, _, _, states = given_subproblem

    assert subproblem.first(states) == first_answer(given_subproblem)


@MANY
@given(bundled_subproblems())
def test_a_first_device_leaves_an_answer_where_the_counts_say_so(given_subproblem):
    subproblem, owners, holding, states = given_subproblem
    possible = {
        found[0] for found in answers(subproblem, states) if keeps_bundles(subproblem, owners, holding, found)
    }

    offered = list(subproblem.candidates(states, 0, subproblem.start()))

    for number, position in offered:
        then = (*states[:number], states[number] | 1 << position, *states[number + 1 :])
        further = subproblem.step(subproblem.start(), 0, number)
        assert subproblem.reaches(then, further) is ((number, position) in possible)
    assert bool(possible) <= bool(offered)


def bundled(members, owners, *, holding):
    """A subproblem of one column over components that are each a group of their own."""
    return BundledSubproblem(
        members=members,
        order=(0,) * len(owners),
        owners=owners,
        groups=tuple((number,) for number in range(len(members))),
        holding=holding,
        columns=2,
        effort=Effort(),
    )


def test_a_loose_device_leaves_a_component_that_may_hold_bundles_for_one_that_is_equal_but_may_not():
    subproblem = bundled(equal_members((0, 1)), (LOOSE, 0), holding=1)

    assert subproblem.first((0, 0)) == ((1, 0), (0, 0))


def test_a_loose_device_leaves_what_a_bundle_still_needs_for_an_equal_device_elsewhere():
    subproblem = bundled(equal_members((0, 1), size=2), (0, LOOSE, 0), holding=2)

    assert subproblem.first((0b00, 0b01)) == ((0, 0), (1, 1), (0, 1))
