"""What looks interchangeable and is not: each case fits, and is refused once a fact is left out of a key.

Every case is asked of the engine and of the plain search. The random worlds of ``test_random_worlds.py`` are
the wider net; these are the facts by name.
"""

from dataclasses import replace

import pytest

from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import DeviceRequest, ExclusiveScope, MatchAttribute, Request, SameScope
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import Node, OnNode
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.result import Allocation
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

POLICIES = pytest.mark.parametrize("policy", [FIRST_FIT, BEST_FIT], ids=["first-fit", "best-fit"])
BOARD, KIND, RAIL = (QualifiedName(f"{DRIVER}/{name}") for name in ("board", "kind", "rail"))


def names(answer):
    assert isinstance(answer, Allocation), answer
    return [one.device.device for results in answer.results.values() for one in results]


def engine_of(*pools, policy=FIRST_FIT, in_use=()):
    engine = Engine(ClusterState({"any": ANY}), policy)
    for one in pools:
        engine.state.set_pool(one)
    for one in in_use:
        engine.state.hold(one)
    return engine


def plain(*pools, wanted, node=NODE, in_use=()):
    cluster = Cluster(pools=tuple(pools), classes={"any": ANY}, allocated=tuple(in_use))
    return allocate(wanted, cluster, node)


def drawing(name, *, shareable=False, amount=1, **capacity):
    """A device of a v1 pool that draws from its one counter."""
    return Device(
        name=DeviceName(name),
        capacity={QualifiedName(f"{DRIVER}/{key}"): Quantity.of(value) for key, value in capacity.items()},
        draws=(Draw(SourceName("board"), {"m": Quantity.of(amount)}),),
        nodes=OnNode(NODE.name),
        is_shareable=shareable,
    )


def counted(*devices, total=1):
    return Pool(
        id=PoolId(DRIVER, NODE.name),
        devices=devices,
        sources={SourceName("board"): {"m": Quantity.of(total)}},
        seen_from=(OnNode(NODE.name),),
    )


@POLICIES
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["exclusive first", "shareable first"])
@pytest.mark.parametrize("requests", [2, 3])
def test_a_shareable_device_is_no_twin_of_an_exclusive_one_with_equal_draws(policy, order, requests):
    both = drawing("whole"), drawing("shares", shareable=True)
    published = counted(*(both[number] for number in order))
    wanted = [claim(*(request(f"r{number}") for number in range(requests)))]

    answer = engine_of(published, policy=policy).allocate(wanted, NODE)

    assert names(answer) == ["shares"] * requests
    assert names(plain(published, wanted=wanted)) == ["shares"] * requests


@POLICIES
def test_shareable_devices_with_other_amounts_are_no_twins(policy):
    published = counted(
        drawing("small", shareable=True, memory=1), drawing("large", shareable=True, memory=2)
    )
    option = DeviceRequest(name="r", class_name="any", capacity={"memory": Quantity.of(1)})
    wanted = [claim(*(Request(name=name, alternatives=(replace(option, name=name),)) for name in ("a", "b")))]

    answer = engine_of(published, policy=policy).allocate(wanted, NODE)

    assert names(answer) == ["large", "large"]


@POLICIES
def test_equal_boards_of_which_one_is_in_a_scope_with_a_rival_are_not_exchanged(policy):
    """Board x has a rival in use: the last request, which wants its scope for itself, cannot use it.

    The first request makes the states of the boards equal; the second takes a part of either board.
    """
    published = pool(
        *(
            one
            for board in "yx"
            for one in (
                device(board, attributes={"board": board, "kind": "board"}, m=3),
                device(f"{board}0", sources=[board], attributes={"board": board, "kind": "rival"}, m=1),
                device(f"{board}1", sources=[board], attributes={"board": board, "kind": "part"}, m=1),
            )
        )
    )
    rival, part = (f"device.attributes['{DRIVER}'].kind == '{kind}'" for kind in ("rival", "part"))
    wanted = [
        claim(
            request("a", rival), request("b", part), request("c", part),
            constraints=[ExclusiveScope((BOARD,), ("c",), kind=KIND, values=("rival",))],
        )
    ]  # fmt: skip
    in_use = [held("x0")]

    answer = engine_of(published, policy=policy, in_use=in_use).allocate(wanted, NODE)

    assert names(answer) == ["y0", "x1", "y1"]
    assert names(plain(published, wanted=wanted, in_use=in_use)) == ["y0", "x1", "y1"]


def expressive(name, partner):
    """Two devices, of which the first goes only with a device whose partner is on rail r."""
    first = replace(device("d0", m=1), only_with=None)
    found = pool(first, device("d1", attributes={"rail": partner}, m=1), node=name)
    one, other = found.devices
    judge = replace(one, only_with=f"device.attributes['{DRIVER}'].rail == 'r'")
    return replace(found, devices=(judge, other))


@pytest.mark.parametrize("first", ["n1", "n2"])
def test_nodes_differ_in_what_the_expressions_of_devices_read(first):
    """Nothing that the claim reads differs between the nodes."""
    pools = [expressive("n1", "q"), expressive("n2", "r")]
    wanted = [claim(request("a", count=2))]
    engine = engine_of(*pools, *pools)
    nodes = [Node(first), Node("n2" if first == "n1" else "n1")]

    fits = {node.name: engine.fits(wanted, node) for node in nodes}

    assert fits == {"n1": False, "n2": True}


def test_nodes_differ_in_which_devices_are_rivals():
    """A claim names the kind of its rivals: that the values of two nodes show one pattern is not enough."""
    pools = [
        pool(
            device("d0", attributes={"kind": kind, "board": name}, m=1),
            device("d1", attributes={"board": name}, m=1),
            node=name,
        )
        for name, kind in (("n1", "nic"), ("n2", "gpu"))
    ]
    alone = ExclusiveScope((BOARD,), kind=KIND, values=("gpu",))
    wanted = [claim(request("a"), constraints=[alone])]
    engine = engine_of(*pools, *pools, in_use=[held("d0", by=name, pool_name=name) for name in ("n1", "n2")])

    assert [engine.fits(wanted, Node(name)) for name in ("n1", "n2")] == [True, False]
    assert engine.likeness(wanted, Node("n1")) != engine.likeness(wanted, Node("n2"))


def test_nodes_differ_in_whether_a_value_is_in_a_list_that_all_of_them_have():
    lists = [("a", "b"), ("c", "d")]
    pools = [
        pool(
            device("whole", m=2),
            *(
                device(f"l{number}", sources=["whole"], attributes={"rail": rails}, m=1)
                for number, rails in enumerate(lists)
            ),
            device("own", attributes={"rail": own}, m=1),
            node=name,
        )
        for name, own in (("n1", "a"), ("n2", "z"))
    ]
    wanted = [claim(request("a", count=2), constraints=[MatchAttribute(RAIL)])]
    engine = engine_of(*pools, *pools)

    assert [engine.fits(wanted, Node(name)) for name in ("n1", "n2")] == [True, False]


def test_requests_that_ask_for_the_same_in_different_groups_of_a_scope_are_not_exchanged():
    """Each group needs a device on each rail: the listed order alone would give a group one rail."""
    rails = ("x", "x", "y", "y")
    published = pool(
        *(device(f"d{number}", attributes={"rail": rail}, m=1) for number, rail in enumerate(rails))
    )
    wanted = [
        claim(
            *(request(name) for name in ("a0", "a1", "b0", "b1")),
            constraints=[SameScope((RAIL,), (("a0", "a1"), ("b0", "b1")))],
        )
    ]
    expected = ["d0", "d2", "d1", "d3"]

    assert sorted(names(engine_of(published).allocate(wanted, NODE))) == sorted(expected)
    assert names(plain(published, wanted=wanted)) == names(engine_of(published).allocate(wanted, NODE))
