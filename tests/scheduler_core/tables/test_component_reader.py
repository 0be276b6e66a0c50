"""Reading components: equal hardware has one structure class, equal attribute keys are one group."""

from hypothesis import given
from hypothesis import strategies as st
from random_components import VALUES, changed, machine

from scheduler_core.state.testing import device, pool
from scheduler_core.tables.component_reader import ComponentReader, selection_of
from scheduler_core.tables.connected import connected
from scheduler_core.tables.entries import identity
from scheduler_core.tables.intern_tables import InternTables

ATTRIBUTES = st.lists(
    st.dictionaries(st.sampled_from("xyz"), st.sampled_from(VALUES)), min_size=1, max_size=5
)
MACHINES = st.builds(lambda chance: changed(chance, machine(0)), st.randoms(use_true_random=False))


def read(published, intern_tables=None):
    reader = ComponentReader(published, intern_tables or InternTables())
    return [(members, reader.read(members)) for members in connected(published.devices)]


def one_component(attributes):
    parts = (device(f"p{n}", sources=["b"], attributes=mine, m=1) for n, mine in enumerate(attributes))
    return pool(device("b", m=9), *parts)


@given(ATTRIBUTES)
def test_the_devices_of_a_group_have_the_same_keys_and_every_device_is_in_one_group(attributes):
    published = one_component(attributes)
    ((_, component),) = read(published)

    groups = component.structure_class.groups

    assert sorted(position for group in groups for position in group.positions) == list(
        range(len(published.devices))
    )
    assert len({group.keys for group in groups}) == len(groups)
    for group in groups:
        for position in group.positions:
            assert set(published.devices[position].attributes) == set(group.keys)


@given(ATTRIBUTES)
def test_an_entry_has_one_value_where_the_devices_agree_and_one_per_device_where_they_differ(attributes):
    published = one_component(attributes)
    ((_, component),) = read(published)

    entries = iter(component.entries)
    for group in component.structure_class.groups:
        for key, is_per_device in zip(group.keys, group.per_device, strict=True):
            values = [published.devices[position].attributes[key] for position in group.positions]
            entry = next(entries)
            assert is_per_device is (len(set(map(identity, values))) > 1)
            assert identity(entry) == identity(tuple(values) if is_per_device else values[0])
    assert list(entries) == []


@given(MACHINES)
def test_reading_again_gives_the_same_structure_classes_and_listings(published):
    intern_tables = InternTables()

    first, second = read(published, intern_tables), read(published, intern_tables)

    for (members, one), (_, other) in zip(first, second, strict=True):
        assert one.structure_class is other.structure_class
        assert one.layout is other.layout
        assert one.layout.listed == tuple(members)
        assert one.layout.names == tuple(published.devices[index].name for index in members)


@given(MACHINES)
def test_devices_with_one_node_selection_have_it_together_others_each(published):
    devices = published.devices

    found = selection_of(devices)

    each = tuple(one.nodes for one in devices)
    assert found == (each[0] if len(set(each)) == 1 else each)


def test_boards_of_one_type_have_one_structure_class_and_other_amounts_have_another():
    first, second = read(machine(0))
    ((_, small),) = read(pool(device("b", m=8), device("p", sources=["b"], m=2)), InternTables())

    assert first[1].structure_class is second[1].structure_class
    assert small.structure_class is not first[1].structure_class
