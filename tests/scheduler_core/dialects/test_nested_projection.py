"""Devices that are cut from a device which is itself cut: v1 allows just the same sets, or it is refused."""

from copy import copy
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from scheduler_core.base.errors import CannotProject
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.dialects.pairwise import misfit
from scheduler_core.dialects.project import project
from scheduler_core.state.testing import device, pool


def admitted(one_pool, names):
    ledger = Ledger(one_pool)
    return all(is_taken(ledger, name) for name in names)


def is_taken(ledger, name):
    if not ledger.admits(name):
        return False
    ledger.take(name, "x")
    return True


def sets_of_one_only(one_pool, other, names):
    """Yield every set of devices that only one of two pools admits.

    Devices are taken one after the other, so a set that both refuse is refused with more devices, too.
    """
    begun = [((), 0, Ledger(one_pool), Ledger(other))]
    while begun:
        chosen, first, *ledgers = begun.pop()
        for number, name in enumerate(names[first:], first):
            sides = list(map(copy, ledgers))
            one, two = [is_taken(side, name) for side in sides]
            if one != two:
                yield (*chosen, name)
            elif one:
                begun.append(((*chosen, name), number + 1, *sides))


def instance(name, *, leaves=2, source="g", **amounts):
    """A middle of the root ``g`` with as many slots of its own, and a leaf for each slot."""
    slots = {f"slot{index}": 1 for index in range(leaves)}
    return [
        device(name, sources=[name, source], **amounts, **slots),
        *(device(f"{name}-{index}", sources=[name], **{f"slot{index}": 1}) for index in range(leaves)),
    ]


@st.composite
def nested_pools(draw):
    """A root of two dimensions, plain parts, and up to three middles whose leaves overlap each other."""
    few = st.integers(0, 2)
    devices = [device("g", m=2, n=3)]
    for index in range(draw(st.integers(0, 3))):
        devices.append(device(f"p{index}", sources=["g"], m=draw(few), n=draw(few)))
    for index in range(draw(st.integers(1, 3))):
        name, slots = f"i{index}", range(draw(st.integers(1, 3)))
        own = {f"slot{slot}": 1 for slot in slots} | {"width": draw(st.integers(1, 3))}
        devices.append(device(name, sources=[name, "g"], m=draw(few), n=draw(few), **own))
        for leaf in range(draw(st.integers(1, 3))):
            taken = draw(st.sets(st.sampled_from(slots), min_size=1))
            share = {"width": 1} if draw(st.booleans()) else {}
            amounts = {f"slot{slot}": 1 for slot in taken} | share
            devices.append(device(f"{name}-{leaf}", sources=[name], **amounts))
    return pool(*devices)


@settings(max_examples=150, deadline=None)
@given(nested_pools())
def test_the_same_sets_of_devices_fit_in_both_dialects(nested):
    try:
        projected = project(nested)
    except CannotProject:
        event("refused")
        return
    event("projected")
    names = [found.name for found in nested.devices]

    assert list(sets_of_one_only(nested, projected, names[-9:])) == []


def test_a_middle_is_charged_once_for_all_its_leaves():
    nested = pool(device("g", m=2), *instance("i", leaves=3, m=1), device("p", sources=["g"], m=1))

    projected = project(nested)

    assert admitted(projected, ["i-0", "i-1", "i-2", "p"])
    assert not admitted(projected, ["i-0", "i"])
    assert not admitted(projected, ["i-0", "g"])


def test_a_part_that_draws_nothing_is_refused_with_its_name():
    middle = [device("i", sources=["i", "g"], m=0, slots=2), device("i-0", sources=["i"], slots=1)]
    nested = pool(device("g", m=2), device("idle", sources=["g"], m=0), *middle)

    with pytest.raises(CannotProject, match="idle names g without drawing anything from it"):
        project(nested)


def test_leaves_of_middles_that_overlap_exclude_each_other_however_many_there_are():
    nested = pool(device("g", m=1), *instance("i", leaves=3, m=1), *instance("j", leaves=4, m=1))

    projected = project(nested)

    assert admitted(projected, ["j-0", "j-1", "j-2", "j-3"])
    for one in range(3):
        for other in range(4):
            assert not admitted(projected, [f"i-{one}", f"j-{other}"])


def test_the_counters_of_leaves_lie_in_their_roots_set_under_the_middles_name():
    projected = project(pool(device("g", m=1), *instance("g-i", m=1)))

    assert set(projected.sources) == {"g"}
    assert set(projected.sources["g"]) == {"m", "i-slot-0", "i-slot-1"}
    assert [draw.source for one in projected.devices for draw in one.draws] == ["g"] * 4


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        (
            [
                device("g", m=4),
                device("i", sources=["g"], m=2),
                *(device(name, sources=["i"], m=1) for name in ("l", "n", "o")),
            ],
            "i is cut into devices and itself cut from g, of which l takes no dimension whole",
        ),
        (
            [
                device("g", m=3),
                *instance("i", m=1),
                *(device(f"p{index}", sources=["g"], m=1) for index in range(3)),
            ],
            "g is overdrawn by devices of which every two fit: i, p0, p1, p2",
        ),
        (
            [
                device("g", m=4),
                device("h", sources=["g"], m=4),
                device("p", sources=["g"], m=1),
                *instance("i", m=1, source="h"),
            ],
            "i is cut into devices",
        ),
        (
            [device("g", m=1), *instance("i", leaves=33, m=1)],
            "g and its parts need 34 counters; v1 allows 32",
        ),
        (
            [
                device("g", m=1),
                device("i", sources=["i", "g"], m=1, a=1, b=1, width=2),
                device("k", sources=["i"], a=1, width=2),
                device("l", sources=["i"], b=1, width=1),
            ],
            "i has parts that exclude each other by what none takes whole",
        ),
    ],
)
def test_what_no_counters_can_say_is_refused_with_the_reason(devices, reason):
    with pytest.raises(CannotProject) as refusal:
        project(pool(*devices))

    assert any(reason in found for found in refusal.value.reasons), refusal.value.reasons


def test_a_name_that_no_counter_can_have_is_refused():
    name = "i" * 60

    with pytest.raises(CannotProject, match="cannot be the name of one of its counters"):
        project(pool(device("g", m=1), *instance(name, m=1)))


def test_too_many_sets_are_not_looked_at():
    one, many = {"m": Quantity.of(1)}, {"m": Quantity.of(100)}

    assert misfit([one] * 40, many, [True] * 40) == ()


@st.composite
def trees(draw):
    """A tree of up to four levels; now and then its parts do not all fit, or one is cut from two devices."""
    room = {"g": draw(st.integers(4, 12))}
    devices, level = [device("g", m=room["g"])], ["g"]
    for _ in range(draw(st.integers(2, 3))):
        below = []
        for parent in level:
            left = room[parent]
            for index in range(draw(st.integers(0, 3))):
                if left < 1 or len(devices) > 9:
                    break
                size = draw(st.integers(1, max(1, left if draw(st.integers(0, 9)) == 0 else left // 2)))
                left -= 0 if draw(st.integers(0, 9)) == 0 else size
                name = f"{parent}-{index}"
                devices.append(device(name, sources=[parent], m=size))
                room[name] = size
                below.append(name)
        level = below
    return pool(*devices)


@settings(max_examples=300, deadline=None)
@given(trees())
def test_a_tree_of_any_depth_allows_the_same_sets_in_both_dialects(tree):
    try:
        projected = project(tree)
    except CannotProject:
        event("refused")
        return
    event(f"projected, {len(tree.devices)} devices")
    names = [found.name for found in tree.devices]

    assert list(sets_of_one_only(tree, projected, names[-9:])) == []
    assert admitted(tree, ["g"]) == admitted(projected, ["g"])


def halves(name, size, depth):
    """A device, its two halves, their halves, and so on."""
    found = []
    for half in ("a", "b") if depth else ():
        found.append(device(f"{name}{half}", sources=[name], m=size // 2))
        found += halves(f"{name}{half}", size // 2, depth - 1)
    return found


def test_a_tree_whose_parts_all_fit_has_one_counter_for_each_end_of_a_branch():
    projected = project(pool(device("g", m=16), *halves("g", 16, 4)))

    assert {len(counters) for counters in projected.sources.values()} == {16}
    assert admitted(projected, ["ga", "gba", "gbba", "gbbba", "gbbbb"])
    assert not admitted(projected, ["gb", "gbbba"])
    assert not admitted(projected, ["gbbba", "g"])


@pytest.mark.parametrize(
    "devices",
    [
        [device("g", m=64), *halves("g", 64, 6)],
        [device("g", m=8), *halves("g", 8, 3), device("more", sources=["g"], m=1)],
        [device("g", m=8), *halves("g", 8, 3), device("two", sources=["ga", "gb"], m=1)],
        [
            device("g", m=8),
            *halves("g", 8, 3),
            replace(device("x", sources=["gaaa"], m=1), groups={"gaaa": frozenset("x")}),
        ],
    ],
    ids=["more ends than counters", "parts that do not all fit", "a part of two devices", "groups"],
)
def test_a_deep_tree_that_is_not_exact_is_refused(devices):
    with pytest.raises(CannotProject, match="is cut into devices and itself cut from"):
        project(pool(*devices))
