"""The choice of a node: fuller nodes are looked at first, and the caller admits nodes."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, Request
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, claim, device, pool, request

NAMES = tuple("abcdefghijk")
NODES = tuple(map(Node, NAMES))
GPUS, PARTS = 2, 4
COMPARED = 8
KINDS = {
    "gpu": lambda count: claim(
        request("r", "device.attributes['driver.example.com'].kind == 'gpu'", count=count)
    ),
    "part": lambda count: claim(
        request("r", "device.attributes['driver.example.com'].kind == 'part'", count=count)
    ),
    "nic": lambda count: claim(
        request("r", "device.attributes['driver.example.com'].kind == 'nic'", count=count)
    ),
}
ASKED = st.tuples(st.sampled_from(sorted(KINDS)), st.integers(1, 2))
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.sampled_from(NAMES), ASKED),
        st.tuples(st.just("give"), st.integers(0, 30), st.none()),
        st.tuples(st.just("publish"), st.sampled_from(NAMES), st.integers(1, 3)),
    ),
    max_size=14,
)
POLICIES = pytest.mark.parametrize("policy", [FIRST_FIT, BEST_FIT], ids=["first-fit", "best-fit"])


def gpu(name, parts=PARTS):
    yield device(name, attributes={"kind": "gpu"}, memory=parts)
    for number in range(parts):
        yield device(f"{name}-{number}", sources=[name], attributes={"kind": "part"}, memory=1)


def nic(name):
    return device(name, attributes={"kind": "nic"}, rate=1)


def node_pool(name, gpus=GPUS):
    devices = [one for number in range(gpus) for one in gpu(f"gpu{number}")]
    return pool(*devices, nic("nic0"), nic("nic1"), node=name)


def engine_of(policy=BEST_FIT, names=NAMES):
    engine = Engine(ClusterState({ANY.name: ANY}), policy)
    for name in names:
        engine.state.set_pool(node_pool(name))
    return engine


def take(engine, name, asked, by):
    """Hold the devices of a claim on one node, if they fit."""
    answer = engine.decide([asked], Node(name))
    if answer is None:
        return False
    (results,) = answer.results.values()
    engine.state.hold(AllocatedClaim(ref=ClaimRef("default", by), results=results))
    return True


def played(engine, events):
    """Play random events on the cluster."""
    held = []
    for number, (event, what, more) in enumerate(events):
        match event:
            case "take":
                if take(engine, what, KINDS[more[0]](more[1]), str(number)):
                    held.append(str(number))
            case "give" if held:
                engine.state.release(ClaimRef("default", held.pop(what % len(held))))
            case "publish":
                engine.state.set_pool(node_pool(what, more))
        engine.decide_somewhere([KINDS["part"](1)])
        engine.decide_somewhere([KINDS["nic"](1)])


def unused(engine, name, kind):
    """Count by hand the GPUs, or NICs, of which nothing is in use."""
    published = next(one for one in engine.state.pools() if one.id.name == name)
    wanted = "nic" if kind == "nic" else "gpu"
    boards = {
        str(one.name) for one in published.devices if one.name.startswith(wanted) and "-" not in one.name
    }
    held = (result.device for one in engine.state.concerning(Node(name)) for result in one.results)
    return len(boards - {one.device.split("-")[0] for one in held})


@settings(max_examples=80)
@given(EVENTS, ASKED)
def test_the_nodes_with_the_fewest_unused_gpus_that_fit_are_compared(events, asked):
    engine = engine_of()
    played(engine, events)
    kind, wanted = asked[0], KINDS[asked[0]](asked[1])

    found = engine.compared_nodes([wanted])

    fitting = [node for node in NODES if engine.decide([wanted], node) is not None]
    expected = sorted(fitting, key=lambda node: (unused(engine, node.name, kind), node.name))
    assert [node.name for node in found] == [node.name for node in expected[:COMPARED]]
    assert engine.compared_nodes([wanted], NODES) == found


@POLICIES
@settings(max_examples=80)
@given(events=EVENTS, asked=ASKED, wanted=st.sets(st.sampled_from(NAMES)))
def test_the_answer_is_that_of_the_admitted_nodes_and_few_nodes_are_asked(policy, events, asked, wanted):
    engine, one = engine_of(policy), KINDS[asked[0]](asked[1])
    played(engine, events)
    fitting = {node.name for node in NODES if engine.decide([one], node) is not None}
    asked_for = []

    def admits(node):
        asked_for.append(node.name)
        return node.name in wanted

    answer = engine.decide_somewhere([one], admits=admits)

    assert answer == engine.decide_somewhere([one], [node for node in NODES if node.name in wanted])
    assert set(asked_for) <= fitting
    assert len(set(asked_for)) == len(asked_for)
    assert len(wanted.intersection(asked_for)) <= (COMPARED if policy is BEST_FIT else 1)


def test_of_nodes_at_one_price_the_one_with_the_fewest_unused_gpus_is_taken():
    engine = engine_of(names=("empty", "half"))
    take(engine, "half", KINDS["gpu"](1), "one")

    answer = engine.decide_somewhere([KINDS["gpu"](1)])

    assert answer.node == "half"


def test_nics_in_use_do_not_make_a_node_fuller_for_a_claim_of_gpus():
    engine = engine_of(names=("a", "b"))
    take(engine, "b", KINDS["nic"](2), "nics")

    assert engine.decide_somewhere([KINDS["gpu"](1)]).node == "a"
    assert engine.decide_somewhere([KINDS["nic"](1)]).node == "a"


def test_first_fit_takes_the_first_admitted_node_by_name():
    engine, asked_for = engine_of(FIRST_FIT), []

    def admits(node):
        asked_for.append(node.name)
        return node.name > "b"

    assert engine.decide_somewhere([KINDS["gpu"](1)], admits=admits).node == "c"
    assert asked_for == ["a", "b", "c"]


@POLICIES
def test_where_no_admitted_node_fits_the_first_of_them_is_explained(policy):
    engine, much = engine_of(policy), KINDS["gpu"](GPUS + 1)

    answer = engine.allocate_somewhere([much], admits=lambda node: node.name != "a")

    assert isinstance(answer, Unallocatable)
    assert answer.node == "b"
    assert engine.decide_somewhere([much], admits=lambda _: True) is None


@POLICIES
def test_without_an_admitted_node_nothing_can_be_explained(policy):
    engine, much = engine_of(policy), KINDS["gpu"](1)

    assert engine.decide_somewhere([much], admits=lambda _: False) is None
    with pytest.raises(ValueError, match="at least one node that is admitted"):
        engine.allocate_somewhere([much], admits=lambda _: False)


def test_the_preferred_alternative_is_given_although_it_costs_more():
    engine = engine_of(names=("a", "b"))
    (whole,), (part,) = (KINDS[kind](1).requests[0].alternatives for kind in ("gpu", "part"))
    options = tuple(replace(one, name=f"r/{name}") for name, one in (("whole", whole), ("part", part)))
    take(engine, "a", KINDS["gpu"](1), "one")
    take(engine, "a", KINDS["part"](1), "two")

    answer = engine.decide_somewhere([claim(Request(name="r", alternatives=options))])

    assert isinstance(answer, Allocation)
    assert (answer.node, [one.request for one in next(iter(answer.results.values()))]) == ("b", ["r/whole"])
