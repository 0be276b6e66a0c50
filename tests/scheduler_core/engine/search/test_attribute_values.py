"""The values of one attribute, as sets of devices: two devices share a value where their attributes do."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import VALUES
from searched_nodes import numbered

from scheduler_core.engine.search.attribute_values import attribute_values, members, whole
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.bits import mask_of, positions

X = QualifiedName(f"{DRIVER}/x")
MANY = settings(max_examples=200)
ATTRIBUTES = st.dictionaries(st.sampled_from("xy"), st.sampled_from(VALUES))
WAYS = st.sampled_from(
    [whole, lambda value: members(value, lists=True), lambda value: members(value, lists=False)]
)


@st.composite
def pools(draw):
    """Whole devices, some of them with parts, so that components have several devices."""
    devices = []
    for number in range(draw(st.integers(1, 3))):
        devices.append(device(f"d{number}", attributes=draw(ATTRIBUTES), m=4))
        devices += [
            device(f"d{number}-{part}", sources=[f"d{number}"], attributes=draw(ATTRIBUTES), m=1)
            for part in range(draw(st.integers(0, 2)))
        ]
    return pool(*devices)


def keys(one, keys_of):
    return set(keys_of(one.attributes[X])) if X in one.attributes else set()


@MANY
@given(pools(), WAYS)
def test_devices_share_a_value_where_what_is_compared_of_their_attributes_is_equal(published, keys_of):
    components, devices, to_devices = numbered(published)

    values = attribute_values(components, X, to_devices, keys_of)

    for (n, one), (m, other) in product(enumerate(devices), repeat=2):
        are_equal = bool(keys(one, keys_of) & keys(other, keys_of))
        assert bool(values.of.get(n, 0) & values.of.get(m, 0)) is are_equal
    assert values.present == mask_of(n for n, one in enumerate(devices) if keys(one, keys_of))
    assert values.of.keys() == set(positions(values.present))


@MANY
@given(pools(), WAYS, st.integers(0, 2**9 - 1))
def test_the_devices_of_values_and_the_values_of_devices_say_the_same(published, keys_of, chosen):
    components, devices, to_devices = numbered(published)
    values = attribute_values(components, X, to_devices, keys_of)
    chosen &= (1 << len(devices)) - 1

    mine = values.of_any(chosen)

    assert mine == mask_of(value for n in positions(chosen) for value in positions(values.of.get(n, 0)))
    assert values.union(mine) == mask_of(n for n, of in values.of.items() if of & mine)


@MANY
@given(pools())
def test_devices_that_no_request_may_get_have_no_values(published):
    components, _, _ = numbered(published)

    values = attribute_values(components, X, lambda number, mask: 0, whole)

    assert (values.present, values.of, set(values.holders) - {0}) == (0, {}, set())


@pytest.mark.parametrize(
    ("value", "as_list", "as_scalar"),
    [
        (True, [(bool, True)], [(bool, True)]),
        (1, [(int, 1)], [(int, 1)]),
        (("a", 1), [(str, "a"), (int, 1)], []),
    ],
)
def test_constraints_compare_typed_values_and_of_a_list_its_members(value, as_list, as_scalar):
    assert list(members(value, lists=True)) == as_list
    assert list(members(value, lists=False)) == as_scalar


def test_scopes_compare_a_list_as_one_value():
    assert whole(("a", 1)) == (("a", 1),)
