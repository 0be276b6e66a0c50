"""Columns: requests that the same devices suit are joined; a distinct attribute limits groups."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.engine.claims.claim_signature import Alternative, chosen_of
from scheduler_core.engine.solve.columns import (
    ClaimMatches,
    Columns,
    by_value,
    columns_of,
    limited_groups,
    masks_of,
    with_any,
)
from scheduler_core.engine.solve.subproblem import BeyondTables
from scheduler_core.tables.bits import positions

COMPONENTS = 3
MASKS = st.tuples(*[st.integers(0, 7)] * COMPONENTS)
VALUES = st.lists(
    st.lists(st.none() | st.integers(0, 2), min_size=3, max_size=3), min_size=COMPONENTS, max_size=COMPONENTS
)
"""Per component and position the value of an attribute, None where the device has none."""


def blocks_of(values):
    found = []
    for component in values:
        masks = {}
        for position, value in enumerate(component):
            if value is not None:
                masks[value] = masks.get(value, 0) | 1 << position
        found.append(tuple(masks.items()))
    return found


def choice_of(wanted):
    """A choice of alternatives. Shape: the number of the filter, the rules and the count of each."""
    alternatives = tuple(
        Alternative(
            0,
            f"r{number}",
            one,
            count,
            rules,
            has_configs=False,
            admin_access=False,
            tolerations=(),
            capacity=(),
        )
        for number, (one, rules, count) in enumerate(wanted)
    )
    return chosen_of((0,) * len(wanted), alternatives, [count for _, _, count in wanted])


@given(VALUES)
def test_the_positions_of_a_value_are_those_of_the_devices_that_have_it(values):
    blocks = blocks_of(values)

    for value, masks in by_value(blocks).items():
        assert [set(positions(mask)) for mask in masks] == [
            {position for position, mine in enumerate(component) if mine == value} for component in values
        ]
    assert set(by_value(blocks)) == {mine for component in values for mine in component} - {None}
    assert with_any(blocks) == [
        sum(1 << position for position, mine in enumerate(component) if mine is not None)
        for component in values
    ]


@given(st.lists(st.tuples(st.integers(0, 1), st.sets(st.integers(0, 1)).map(tuple)), max_size=4), st.data())
def test_an_alternative_suits_what_its_filter_chooses_and_all_its_rules_allow(wanted, data):
    chosen = data.draw(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=2, max_size=2))
    allowed = {rule: data.draw(st.tuples(st.integers(0, 7), st.integers(0, 7))) for rule in (0, 1)}
    choice = choice_of([(number, rules, 1) for number, rules in wanted])

    found = masks_of(ClaimMatches(tuple(chosen), ()), choice, allowed)

    for (number, rules), masks in zip(wanted, found, strict=True):
        for component, mask in enumerate(masks):
            expected = chosen[component][number]
            for rule in rules:
                expected &= allowed[rule][component]
            assert mask == expected


@given(st.lists(st.tuples(MASKS, st.booleans(), st.integers(1, 3)), min_size=1, max_size=4))
def test_requests_share_a_column_where_masks_and_marks_are_equal(wanted):
    choice = choice_of([(0, (), count) for _, _, count in wanted])

    columns = columns_of(choice, [masks for masks, _, _ in wanted], [marked for _, marked, _ in wanted])

    if not all(any(masks) for masks, _, _ in wanted):
        assert columns is None
        return
    per_device = [(masks, marked) for masks, marked, count in wanted for _ in range(count)]
    assert [(columns.masks[one], columns.marks[one]) for one in columns.order] == per_device
    assert len(set(zip(columns.masks, columns.marks, strict=True))) == len(columns.masks)
    assert columns.used() == [
        number for number in range(COMPONENTS) if any(masks[number] for masks in columns.masks)
    ]


@given(VALUES, MASKS)
def test_two_devices_of_marked_columns_conflict_where_they_are_in_one_limited_group(values, masks):
    columns = Columns((masks,), (0,), (True,))
    used = columns.used()
    try:
        groups = limited_groups(blocks_of(values), columns, used)
    except BeyondTables:
        return
    group_of = {index: group for group in groups for index in group.members}
    suitable = [
        (index, position) for index, number in enumerate(used) for position in positions(masks[number])
    ]
    has_values = any(blocks_of(values))

    for one in suitable:
        for other in suitable:
            if one == other or not has_values:
                continue
            mine, theirs = (values[used[index]][position] for index, position in (one, other))
            if mine is not None and theirs is not None:
                limited = group_of[one[0]] is group_of[other[0]] and group_of[one[0]].is_limited
                assert limited is (mine == theirs)


def test_a_component_that_offers_a_shared_value_for_some_of_its_devices_only_is_not_covered():
    columns = Columns(((0b11, 0b01),), (0,), (True,))

    with pytest.raises(BeyondTables):
        limited_groups([((0, 0b01), (1, 0b10)), ((0, 0b01),)], columns, [0, 1])
