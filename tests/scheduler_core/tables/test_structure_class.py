"""Structure classes: which values differ, for a selector; what devices have beyond their attributes."""

from hypothesis import given
from hypothesis import strategies as st
from random_components import VALUES

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.taints import Effect, Taint, Toleration, intolerable
from scheduler_core.state.testing import DRIVER
from scheduler_core.tables.entries import differing, identity, is_constant, is_same
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure
from scheduler_core.tables.structure_class import AttributeGroup, DeviceFacts, StructureClass

ENTRIES = st.sampled_from([*VALUES, (True, "a"), (1, "a"), ("1", "a")])
ROWS = st.lists(st.tuples(ENTRIES, ENTRIES, ENTRIES), min_size=1, max_size=4)
TAINTS = st.builds(
    Taint, st.sampled_from(["a", "b"]), st.sampled_from(["", "x"]), st.sampled_from(list(Effect))
)
TOLERATIONS = st.builds(
    lambda key, value: Toleration(key, value=value, exists=not value),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "x"]),
)


PLAIN = DeviceFacts(0, {}, (), ())


def structure_class(facts=(PLAIN,), keys=("x", "y", "z")):
    tables = OccupancyTables(Structure(((),) * len(facts), ((),) * len(facts), ()))
    positions = tuple(range(len(facts)))
    groups = (AttributeGroup(keys, positions, (False,) * len(keys)),)
    return StructureClass(DRIVER, tables, tuple(facts), (), groups, amounts=())


@given(ENTRIES, ENTRIES)
def test_two_values_are_the_same_where_their_identities_are(one, other):
    assert is_same(one, other) is (identity(one) == identity(other))
    assert is_same(one, one)


@given(ROWS)
def test_a_column_differs_where_some_value_is_not_the_same_as_the_first(rows):
    columns = list(zip(*rows, strict=True))
    expected = [any(not is_same(value, column[0]) for value in column) for column in columns]

    assert differing(columns) == expected
    assert [is_constant(column, column[0]) for column in columns] == [not differs for differs in expected]


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_the_varying_entries_are_those_in_which_any_two_noted_components_differ(batches):
    found = structure_class()

    for rows in batches:
        found.note(rows)

    noted = [row for rows in batches for row in rows]
    assert found.varying == {
        number
        for number, column in enumerate(zip(*noted, strict=True))
        if any(not is_same(value, column[0]) for value in column)
    }
    for row in noted:
        assert found.own(row) == tuple(row[number] for number in sorted(found.varying))
        assert found.agree(found.common(row), found.common(noted[0]))


@given(ROWS, st.tuples(ENTRIES, ENTRIES, ENTRIES))
def test_components_agree_where_all_their_common_entries_are_the_same(rows, other):
    found = structure_class()
    found.note(rows)

    one, two = found.common(rows[0]), found.common(other)

    assert found.agree(one, two) is all(map(is_same, one, two))


@given(st.lists(st.lists(TAINTS, max_size=2), min_size=1, max_size=4), st.lists(TOLERATIONS, max_size=2))
def test_barred_are_the_devices_with_a_taint_that_is_not_tolerated(taints, tolerations):
    found = structure_class([DeviceFacts(0, {}, (), (), taints=tuple(mine)) for mine in taints])

    barred = found.barred(tuple(tolerations))

    for position, mine in enumerate(taints):
        assert bool(barred >> position & 1) is (intolerable(mine, tolerations) is not None)


@given(
    st.lists(st.dictionaries(st.sampled_from("mk"), st.integers(0, 3)), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_a_device_has_enough_where_it_has_the_capacity_and_no_less_of_it(capacities, least):
    facts = [
        DeviceFacts(0, {f"{DRIVER}/{key}": Quantity.of(amount) for key, amount in one.items()}, (), ())
        for one in capacities
    ]

    found = structure_class(facts).with_capacity((("m", Quantity.of(least)),))

    for position, one in enumerate(capacities):
        assert bool(found >> position & 1) is (one.get("m", -1) >= least)
