"""Component templates: what components share is kept once, what differs stays in the component."""

from hypothesis import given
from hypothesis import strategies as st
from random_components import VALUES

from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.bits import positions
from scheduler_core.tables.entries import identity
from scheduler_core.tables.pool_compiler import PoolCompiler

ROWS = st.lists(
    st.lists(st.dictionaries(st.sampled_from("xyz"), st.sampled_from(VALUES)), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


def components_of(rows):
    """One component per row: a board, and a part for each set of attributes."""
    devices = []
    for number, attributes in enumerate(rows):
        devices.append(device(f"b{number}", m=9))
        devices += [
            device(f"b{number}-{part}", sources=[f"b{number}"], attributes=mine, m=1)
            for part, mine in enumerate(attributes)
        ]
    return PoolCompiler().compile(pool(*devices)).components


@given(ROWS)
def test_the_blocks_of_an_attribute_are_the_devices_that_have_it_by_value(rows):
    for component, row in zip(components_of(rows), rows, strict=True):
        for key in component.template.structure_class.keys:
            found = [
                (position, identity(value))
                for value, mask in component.template.blocks(key, component.own)
                for position in positions(mask)
            ]

            having = [(1 + part, mine) for part, mine in enumerate(row)]
            name = key.removeprefix(f"{DRIVER}/")
            assert sorted(found, key=str) == sorted(
                ((position, identity(mine[name])) for position, mine in having if name in mine), key=str
            )


@given(ROWS)
def test_an_entry_is_a_components_own_where_the_template_is_open_and_shared_elsewhere(rows):
    for component in components_of(rows):
        template = component.template
        assert len(component.own) == len(template.open)
        for slot, number in enumerate(template.open):
            assert template.entry(number, component.own) is component.own[slot]
        for number in set(range(sum(len(group.keys) for group in template.structure_class.groups))):
            if number not in template.open:
                assert template.entry(number, component.own) is template.entry(number, ())


@given(st.lists(st.sampled_from(VALUES), min_size=2, max_size=5))
def test_a_value_in_which_no_component_differs_is_in_no_component(values):
    rows = [[{"x": "same", "y": value}] for value in values]

    components = components_of(rows)

    differ = len({identity(value) for value in values}) > 1
    assert {len(component.own) for component in components} == {int(differ)}
    assert len({component.template for component in components}) == 1


def test_a_listing_knows_the_position_of_each_name():
    (component,) = components_of([[{}, {}]])

    assert component.layout.index == {"b0": 0, "b0-0": 1, "b0-1": 2}
