"""Bundling: devices that matchAttribute constraints tie together come from one group of components."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.engine.claims.claim_signature import Alternative, chosen_of
from scheduler_core.engine.solve.bundled import LOOSE
from scheduler_core.engine.solve.bundling import bundles_of, groups_by_value
from scheduler_core.engine.solve.columns import Columns
from scheduler_core.engine.solve.subproblem import BeyondTables

WANTED = st.lists(
    st.tuples(st.sets(st.integers(0, 3), max_size=2), st.integers(1, 2)), min_size=1, max_size=5
)


def choice_of(wanted):
    alternatives = tuple(
        Alternative(
            0,
            f"r{n}",
            0,
            count,
            tuple(sorted(rules)),
            has_configs=False,
            admin_access=False,
            tolerations=(),
            capacity=(),
        )
        for n, (rules, count) in enumerate(wanted)
    )
    return chosen_of((0,) * len(wanted), alternatives, [count for _, count in wanted])


def tied(wanted, rules):
    """Per request, the requests that a chain of constraints ties to it, itself included."""
    bound = [set(mine) & set(rules) for mine, _ in wanted]
    found = [{number} if mine else set() for number, mine in enumerate(bound)]
    for _ in wanted:
        for one, mine in enumerate(bound):
            for other, theirs in enumerate(bound):
                if mine & theirs:
                    found[one] |= found[other]
    return found


@given(WANTED, st.sets(st.integers(0, 3), min_size=1))
def test_requests_are_in_one_bundle_where_a_chain_of_constraints_ties_them(wanted, rules):
    bundles = bundles_of(choice_of(wanted), sorted(rules))

    for number, others in enumerate(tied(wanted, rules)):
        devices = sum(wanted[other][1] for other in others)
        assert (bundles[number] == LOOSE) is (devices < 2)
        if devices > 1:
            assert {one for one, bundle in enumerate(bundles) if bundle == bundles[number]} == others
    numbers = {bundle for bundle in bundles if bundle != LOOSE}
    assert numbers == set(range(len(numbers)))


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=5))
def test_components_with_devices_for_bundles_are_grouped_by_their_value_and_come_first(components):
    """Each component has one value, and devices for a bundle or only loose ones."""
    marked = tuple(int(holds) for _, holds in components)
    loose = (1,) * len(components)
    columns = Columns((marked, loose), (0, 1), (True, False))
    values = [((value, 1),) for value, _ in components]

    groups, holding = groups_by_value(values, columns, range(len(components)))

    assert sorted(index for group in groups for index in group) == list(range(len(components)))
    for number, group in enumerate(groups):
        if number < holding:
            value = components[group[0]][0]
            assert set(group) == {
                one for one, (mine, holds) in enumerate(components) if holds and mine == value
            }
        else:
            assert len(group) == 1
            assert not components[group[0]][1]


def test_a_component_with_two_values_for_one_bundle_is_not_covered():
    columns = Columns(((0b11,),), (0, 0), (True,))

    with pytest.raises(BeyondTables):
        groups_by_value([((0, 0b01), (1, 0b10))], columns, [0])
