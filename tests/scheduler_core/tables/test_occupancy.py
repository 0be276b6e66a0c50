"""Which devices of a component are free: the tables against the ledger, and against themselves."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import pools, structures

from scheduler_core.base.features import ALL
from scheduler_core.books.ledger import Ledger
from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.pool_compiler import PoolCompiler

MEANINGS = ["kep-4815", "kep-5963"]
MANY = settings(max_examples=300)


def free_names(compiled, states):
    return {
        component.layout.names[position]
        for component, state in zip(compiled.components, states, strict=True)
        for position in positions(component.template.tables.free(state))
    }


def admitted_names(ledger, flat):
    return {one.name for one in flat.devices if ledger.admits(one.name)}


@pytest.mark.parametrize("meaning", MEANINGS)
@MANY
@given(flat=pools(), data=st.data())
def test_after_every_device_taken_the_free_ones_are_those_the_ledger_admits(flat, data, meaning):
    features = replace(ALL, groups=meaning)
    ledger = Ledger(flat, features)
    compiled = PoolCompiler(features).compile(flat)
    states = [0] * len(compiled.components)

    while admitted := sorted(admitted_names(ledger, flat)):
        assert free_names(compiled, states) == set(admitted)
        name = data.draw(st.sampled_from(admitted))
        ledger.take(name, "claim")
        component, position = compiled.find(name)
        number = compiled.components.index(component)
        component.template.tables.free_after(states[number], position)
        states[number] |= 1 << position

    assert free_names(compiled, states) == set()


@pytest.mark.parametrize("meaning", MEANINGS)
@MANY
@given(flat=pools(), data=st.data())
def test_whatever_is_held_even_too_much_the_free_ones_are_those_the_ledger_admits(flat, data, meaning):
    features = replace(ALL, groups=meaning)
    ledger = Ledger(flat, features)
    compiled = PoolCompiler(features).compile(flat)
    states = [0] * len(compiled.components)

    for one in data.draw(st.lists(st.sampled_from(flat.devices), unique_by=lambda one: one.name)):
        ledger.record(one.name, "claim")
        component, position = compiled.find(one.name)
        states[compiled.components.index(component)] |= 1 << position

    assert free_names(compiled, states) == admitted_names(ledger, flat)


@MANY
@given(structures(), st.data())
def test_a_state_is_the_same_from_whichever_state_it_was_reached(structure, data):
    tables, state = OccupancyTables(structure), 0
    while free := list(positions(tables.free(state))):
        position = data.draw(st.sampled_from(free))
        after = tables.free_after(state, position)
        state |= 1 << position

        fresh = OccupancyTables(structure)
        assert (after, tables.left(state)) == (fresh.free(state), fresh.left(state))


@MANY
@given(structures(), st.data())
def test_what_is_left_is_the_total_less_the_draws_of_what_is_in_use_and_its_ancestors(structure, data):
    tables = OccupancyTables(structure)
    state = data.draw(st.integers(0, tables.everything))
    in_use = set(positions(state)) | {
        one for taken in positions(state) for one in positions(tables.above[taken])
    }
    held_with_its_parts = {taken for taken in positions(state) if state & tables.below[taken]}

    expected = list(structure.totals)
    for one in [*in_use, *held_with_its_parts]:
        for counter, amount in structure.draws[one]:
            expected[counter] -= amount

    assert tables.left(state) == expected


@MANY
@given(structures(), st.data())
def test_swapping_interchangeable_positions_swaps_what_is_free(structure, data):
    tables = OccupancyTables(structure)
    state = data.draw(st.integers(0, tables.everything))

    for one, other in combinations(range(tables.size), 2):
        if tables.twins[one] >> other & 1:
            swap = {one: other, other: one}

            def swapped(mask, swap=swap):
                return mask_of(swap.get(position, position) for position in positions(mask))

            assert tables.twins[one] == tables.twins[other]
            assert tables.free(swapped(state)) == swapped(tables.free(state))


@MANY
@given(structures())
def test_a_whole_counter_serves_one_device_at_a_time(structure):
    tables = OccupancyTables(structure)
    for counter, total in enumerate(structure.totals):
        amounts = {amount for draws in structure.draws for drawn, amount in draws if drawn == counter}

        assert (counter in tables.whole_counters) is (total > 0 and amounts == {total})
