"""The independent judge of answers: it takes every right answer and refuses each kind of wrong one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given as draws
from hypothesis import settings
from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.explain.allocate import allocate_somewhere
from scheduler_core.model.claim import AllocatedDevice, DeviceClass, DistinctAttribute, MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId, DeviceName, Draw
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import AllNodes
from scheduler_core.model.result import Allocation
from scheduler_core.model.taints import Taint
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request
from tangram.conformance.situation import Situation, read_situation
from tangram.conformance.validity import violations

CASES = sorted((Path(__file__).parents[1] / "scheduler_core" / "cases").glob("*.json"))
NONE = DeviceClass(name="none", selectors=("false",))


def situation(pool_, claims, allocated=()):
    cluster = Cluster(pools=(pool_,), classes={"any": ANY, "none": NONE}, allocated=tuple(allocated))
    return Situation(claims=tuple(claims), cluster=cluster, nodes=(NODE,))


def answer(wanted, *given):
    """An answer that gives devices to requests of one claim, ``request=device``."""
    results = tuple(
        AllocatedDevice(name, DeviceId(DRIVER, NODE.name, DeviceName(which)))
        for name, _, which in (one.partition("=") for one in given)
    )
    return Allocation(node=NODE.name, results={wanted.ref: results}, nodes={wanted.ref: AllNodes()})


def judged(pool_, wanted, *given, allocated=()):
    return list(violations(answer(wanted, *given), situation(pool_, [wanted], allocated)))


BOARD = pool(
    device("board", attributes={"id": "board", "rack": 1}, m=4),
    device("half-0", sources=["board"], attributes={"id": "half", "rack": 1}, m=2),
    device("half-1", sources=["board"], attributes={"id": "half", "rack": 1}, m=2),
    device("most", sources=["board"], attributes={"id": "most"}, m=3),
)
HALF = f"device.attributes['{DRIVER}'].id == 'half'"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_answer_of_the_core_is_valid(path):
    content = json.loads(path.read_text())
    found = read_situation(content, by_name=True)
    if not found.claims or "unschedulable" in content["expect"]:
        return

    answered = allocate_somewhere(found.claims, found.cluster, found.nodes)

    assert isinstance(answered, Allocation)
    assert list(violations(answered, found)) == []


def test_two_halves_of_a_board_are_a_valid_answer():
    wanted = claim(request("r", HALF, count=2))

    assert judged(BOARD, wanted, "r=half-0", "r=half-1") == []


@pytest.mark.parametrize(
    ("wanted", "given", "says"),
    [
        (request("r", count=2), ["r=half-0", "r=most"], "m of board"),
        (request("r", count=2), ["r=half-0", "r=board"], "is cut from"),
        (request("r", count=2), ["r=half-0", "r=half-0"], "used twice"),
        (request("r", count=2), ["r=half-0"], "asks for 2"),
        (request("r", HALF), ["r=most"], "is not what r selects"),
        (request("r"), ["r=nothing"], "cannot be used on the node"),
        (request("r"), ["other=half-0", "r=half-1"], "which the claim does not ask"),
        (request("r", HALF, count=None), ["r=half-0"], "asks for all that match"),
    ],
)
def test_an_answer_that_breaks_a_rule_is_told_by_the_rule(wanted, given, says):
    found = judged(BOARD, claim(wanted), *given)

    assert any(says in sentence for sentence in found), found


def test_what_a_claim_holds_counts():
    wanted = claim(request("r"))

    assert judged(BOARD, wanted, "r=half-1", allocated=[held("half-0")]) == []
    assert judged(BOARD, wanted, "r=most", allocated=[held("half-0")])
    assert judged(BOARD, wanted, "r=half-0", allocated=[held("half-0")])


@pytest.mark.parametrize(
    ("kind", "key", "given", "is_valid"),
    [
        (MatchAttribute, "id", ["r=half-0", "r=half-1"], True),
        (MatchAttribute, "rack", ["r=half-0", "r=half-1"], True),
        (DistinctAttribute, "rack", ["r=half-0", "r=half-1"], False),
        (MatchAttribute, "nothing", ["r=half-0", "r=half-1"], False),
    ],
)
def test_constraints_are_read_off_the_devices(kind, key, given, is_valid):
    wanted = claim(request("r", HALF, count=2), constraints=[kind(qualified(key, DRIVER))])

    assert (judged(BOARD, wanted, *given) == []) is is_valid


def changed(name, **change):
    devices = tuple(replace(one, **change) if one.name == name else one for one in BOARD.devices)
    return replace(BOARD, devices=devices)


def test_a_taint_must_be_tolerated():
    found = judged(changed("half-0", taints=(Taint("broken"),)), claim(request("r")), "r=half-0")

    assert found == [f"{DRIVER}/node-1/half-0 has taint broken, which r does not tolerate"]


def test_devices_of_one_source_need_a_common_group():
    def draw(*groups):
        return (Draw(BOARD.devices[1].draws[0].source, BOARD.devices[1].draws[0].amounts, frozenset(groups)),)

    apart = replace(changed("half-0", draws=draw("a")), devices=())
    devices = [
        replace(one, draws=draw("a" if one.name == "half-0" else "b")) if one.name.startswith("half") else one
        for one in BOARD.devices
    ]
    apart = replace(apart, devices=tuple(devices))

    found = judged(apart, claim(request("r", HALF, count=2)), "r=half-0", "r=half-1")

    assert found == ["what is in use of board has no common compatibility group"]


def test_expressions_of_devices_in_use_are_asked_both_ways():
    picky = changed("half-0", only_with=f"device.attributes['{DRIVER}'].id == 'most'")
    wanted = claim(request("r"))

    assert judged(picky, wanted, "r=half-0") == []
    assert judged(picky, wanted, "r=half-0", allocated=[held("half-1")])
    assert judged(picky, wanted, "r=half-1", allocated=[held("half-0")])


def test_shares_take_no_more_than_the_device_has():
    shared = changed("half-0", is_shareable=True)
    two = Quantity.of(2)
    wanted = claim(request("r"))
    share = AllocatedDevice("r", DeviceId(DRIVER, NODE.name, DeviceName("half-0")), consumed={"m": two})
    given = replace(answer(wanted), results={wanted.ref: (share,)})

    assert list(violations(given, situation(shared, [wanted]))) == []
    other = replace(held("half-0"), results=(replace(share, share_id="x"),))
    assert list(violations(given, situation(shared, [wanted], [other]))) == [
        f"{DRIVER}/m of half-0 is consumed beyond 2"
    ]


@st.composite
def nested_pools(draw):
    """Two boards, parts of them, leaves of the parts, with groups and expressions here and there."""
    found = []
    for board in ("b0", "b1"):
        found.append(device(board, attributes={"id": "board"}, m=draw(st.integers(2, 5))))
        for part in range(draw(st.integers(0, 3))):
            name = f"{board}-p{part}"
            found.append(device(name, sources=[board], attributes={"id": "part"}, m=draw(st.integers(0, 3))))
            if draw(st.booleans()):
                size = draw(st.integers(0, 2))
                found.append(device(f"{name}-l", sources=[name], attributes={"id": "leaf"}, m=size))
    flat = pool(*found)
    groups = st.sampled_from([None, frozenset("a"), frozenset("b"), frozenset("ab")])
    only = st.sampled_from([None, None, None, f"device.attributes['{DRIVER}'].id != 'leaf'"])
    devices = tuple(
        replace(
            one,
            draws=tuple(replace(each, groups=draw(groups)) for each in one.draws),
            only_with=draw(only),
        )
        for one in flat.devices
    )
    return replace(flat, devices=devices)


@settings(max_examples=500, deadline=None)
@draws(nested_pools(), st.data())
def test_the_judge_and_the_ledger_agree_on_every_set_of_devices(flat, data):
    names = [one.name for one in flat.devices]
    given = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True))[:3]
    before = data.draw(st.permutations(names))[: data.draw(st.integers(0, 3))]
    books = Ledger(flat)
    earlier = [name for name in before if books.admits(name) and not books.take(name, "earlier")]

    fits = all(books.admits(name) and not books.take(name, "new") for name in given)

    wanted = claim(request("r", count=len(given)))
    found = judged(flat, wanted, *(f"r={name}" for name in given), allocated=[held(*earlier)])
    assert (found == []) is fits, found
