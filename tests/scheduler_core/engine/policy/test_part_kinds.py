"""Which parts are counted: what the structure suggests, or the devices that a demand's selector chooses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.effort import Effort
from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.policy.part_kinds import PartKinds
from scheduler_core.rules.selectors import compile_selector, view
from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.pool_compiler import PoolCompiler

KIND = f"device.attributes['{DRIVER}'].kind"
DEMANDS = [f"{KIND} == 'small'", f"{KIND} == 'large'", "true", "false"]
PARTS = st.lists(st.tuples(st.sampled_from([None, "small", "large"]), st.integers(1, 3)), max_size=4)


def components_of(*boards):
    devices = []
    for number, parts in enumerate(boards):
        devices.append(device(f"b{number}", attributes={"serial": number}, m=6))
        devices += [
            device(
                f"b{number}-{n}", sources=[f"b{number}"], attributes={"kind": kind} if kind else {}, m=size
            )
            for n, (kind, size) in enumerate(parts)
        ]
    return PoolCompiler().compile(pool(*devices)).components


def kinds(demands=()):
    return PartKinds(demands, SelectorCache(), Effort())


def chooses(text, component, position):
    try:
        return compile_selector(text).matches(view(DRIVER, component.device(position)))
    except SelectorError:
        return False


@given(PARTS, st.lists(st.tuples(st.sampled_from(DEMANDS), st.integers(1, 4)), min_size=1, max_size=3))
def test_a_demand_is_met_by_the_devices_that_its_selector_chooses_and_weighs_as_often_as_it_is_made(
    parts, demands
):
    (component,) = components_of(parts)

    found = {kind.key[0]: kind for kind in kinds(demands).part_counts(component).part_kinds}

    plain = {
        kind.mask: kind.weight
        for kind in kinds([(text, 1) for text, _ in demands]).part_counts(component).part_kinds
    }
    for number, (text, times) in enumerate(demands):
        mask = sum(1 << position for position in range(len(parts) + 1) if chooses(text, component, position))
        assert (found[number].mask if number in found else 0) == mask
        if mask:
            assert found[number].weight == pytest.approx(times * plain[mask])


@given(PARTS, PARTS, st.booleans())
def test_components_with_equal_parts_share_their_part_counts(one, other, by_demand):
    first, again, second = components_of(one, one, other)
    part_kinds = kinds([(text, 1) for text in DEMANDS] if by_demand else ())

    mine, same, theirs = (part_kinds.part_counts(component) for component in (first, again, second))

    assert mine is same
    if mine is theirs:
        masks = [[kind.mask for kind in found.part_kinds] for found in (mine, theirs)]
        assert masks[0] == masks[1]
    if by_demand and one == other:
        assert mine is theirs


def test_without_demands_parts_of_equal_size_are_one_kind_whatever_they_are_called():
    (component,) = components_of([("small", 1), ("large", 1), (None, 2)])

    masks = {kind.mask for kind in kinds().part_counts(component).part_kinds}

    assert masks == {0b0001, 0b0110, 0b1000}


def test_a_demand_that_is_no_selector_is_refused():
    with pytest.raises(SelectorError):
        kinds([("device.", 1)])
