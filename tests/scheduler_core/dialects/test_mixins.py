"""Flattening: who wins, who supplies, and what makes one device unusable without its neighbours."""

from dataclasses import replace

import pytest

from scheduler_core.dialects.mixins import flatten
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import PoolId
from scheduler_core.state.testing import DRIVER, device, mixin, pool


def only(flat, name="a"):
    return next(found for found in flat.devices if found.name == name)


def reason(flat, name="a"):
    return flat.rejected[name].reason


def test_later_mixins_win_over_earlier_ones_and_own_keys_over_all():
    flat = pool(
        device("a", includes=["first", "second"], attributes={"own": 3}),
        mixins=[
            mixin("first", attributes={"x": 1, "y": 1, "own": 1}),
            mixin("second", attributes={"y": 2, "own": 2}),
        ],
    )

    assert dict(only(flat).attributes) == {f"{DRIVER}/x": 1, f"{DRIVER}/y": 2, f"{DRIVER}/own": 3}


def test_an_unknown_mixin_makes_that_device_unusable_and_no_other():
    flat = pool(device("a", includes=["nope"]), device("b"))

    assert reason(flat) == "includes unknown mixin 'nope'"
    assert [found.name for found in flat.devices] == ["b"]


def test_the_last_listed_source_that_contains_a_dimension_supplies_it():
    flat = pool(device("x", m=4, n=4), device("y", m=4), device("a", sources=["x", "y"], m=1, n=1))

    draws = {draw.source: set(draw.amounts) for draw in only(flat).draws}
    assert draws == {"x": {f"{DRIVER}/n"}, "y": {f"{DRIVER}/m"}}


def test_a_source_with_zero_of_a_dimension_still_contains_it():
    flat = pool(device("x", m=4), device("y", m=0), device("a", sources=["x", "y"], m=1))

    assert [draw.source for draw in only(flat).draws] == ["y"]


def test_a_zero_amount_draws_nothing_even_where_no_source_has_the_dimension():
    flat = pool(device("x", m=4), device("a", sources=["x"], m=1, encoders=0))

    assert [set(draw.amounts) for draw in only(flat).draws] == [{f"{DRIVER}/m"}]


def test_a_positive_dimension_that_no_source_has_makes_the_device_unusable():
    flat = pool(device("x", m=4), device("a", sources=["x"], n=1))

    assert reason(flat) == "needs 1 of 'n', which none of its sources has: x"


def test_naming_itself_ends_the_chain_there():
    flat = pool(device("a", sources=["a"], m=4), device("b", sources=["a"], m=1))

    assert only(flat).draws == ()
    assert only(flat).parents == ()
    assert only(flat, "b").parents == ("a",)


def test_an_unknown_source_spoils_every_device_whose_chain_passes_there():
    flat = pool(
        device("a", sources=["nope"], m=4), device("b", sources=["a"], m=2), device("c", sources=["b"], m=1)
    )

    assert reason(flat) == "names unknown source 'nope'"
    assert reason(flat, "b") == "its source 'a' is unusable: names unknown source 'nope'"
    assert reason(flat, "c") == "its source 'a' is unusable: names unknown source 'nope'"


def test_a_circle_of_sources_spoils_its_members_and_what_hangs_below():
    flat = pool(
        device("a", sources=["b"], m=1),
        device("b", sources=["a"], m=1),
        device("c", sources=["a"], m=1),
        device("free", m=1),
    )

    assert set(flat.rejected) == {"a", "b", "c"}
    assert "cycle" in reason(flat, "c")
    assert [found.name for found in flat.devices] == ["free"]


def in_slice(name, *devices, generation=1, count=1, mixins=()):
    return CompositeSlice(
        name=name,
        pool=PoolId(DRIVER, "p"),
        generation=generation,
        slice_count=count,
        nodes=OnNode("n"),
        devices=devices,
        mixins=mixins,
    )


def test_names_are_scoped_to_the_pool_not_to_the_slice():
    flat = flatten(
        [
            in_slice("2", device("part", sources=["gpu"], includes=["m"], m=1), count=2),
            in_slice("1", device("gpu", m=4), mixins=[mixin("m", attributes={"k": 1})], count=2),
        ]
    )

    assert [found.name for found in flat.devices] == ["gpu", "part"]
    assert flat.is_complete


def test_only_the_newest_generation_counts():
    flat = flatten([in_slice("1", device("old")), in_slice("0", device("new"), generation=2)])

    assert [found.name for found in flat.devices] == ["new"]


def test_a_pool_with_missing_slices_is_incomplete():
    assert not flatten([in_slice("1", device("a"), count=2)]).is_complete


@pytest.mark.parametrize("what", ["device", "mixin"])
def test_a_name_listed_twice_makes_the_pool_invalid(what):
    content = {"mixins": [mixin("x")]} if what == "mixin" else {}
    devices = [device("x")] if what == "device" else []

    flat = flatten([in_slice("1", *devices, count=2, **content), in_slice("2", *devices, count=2, **content)])

    assert flat.problem == f"{what} x is listed twice: names must be unique in a pool"


def test_a_broken_mixin_spoils_the_devices_that_include_it_with_its_own_reason():
    one = replace(
        in_slice("1", device("a", includes=["m"]), device("b")), broken_mixins={"m": "too many keys"}
    )

    flat = flatten([one])

    assert reason(flat) == "too many keys"
    assert [found.name for found in flat.devices] == ["b"]
