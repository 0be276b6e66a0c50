"""Devices that are bound after they were chosen: last in order, narrowed to the node if they say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler_core.codec.allocations import allocation_result
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import best_fit
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import Binding
from scheduler_core.model.nodes import AllNodes, OnNode
from scheduler_core.state.testing import ANY, NODE, claim, device, pool, request

WAITS = Binding(conditions=("Attached",), failure_conditions=("Broken",))


def by_search(cluster, asked):
    return allocate([asked], cluster, NODE)


def by_engine(cluster, asked):
    return Engine.of(cluster, best_fit()).allocate([asked], NODE)


BOTH = pytest.mark.parametrize("ask", [by_search, by_engine])


def fabric(binding, *, is_shareable=False):
    """A pool whose only device can be used from every node."""
    made = pool(device("fabric", m=4), node="z-fabric")
    (one,) = made.devices
    changed = replace(one, nodes=AllNodes(), binding=binding, is_shareable=is_shareable)
    return replace(made, devices=(changed,), seen_from=(AllNodes(),))


def cluster_of(*pools):
    return Cluster(pools=pools, classes={"any": ANY})


@BOTH
@pytest.mark.parametrize("is_shareable", [False, True])
def test_a_device_that_binds_to_the_node_narrows_the_answer_to_it(ask, is_shareable):
    asked = claim(request("r"))

    bound = ask(cluster_of(fabric(replace(WAITS, to_node=True), is_shareable=is_shareable)), asked)
    free = ask(cluster_of(fabric(WAITS, is_shareable=is_shareable)), asked)

    assert bound.nodes[asked.ref] == OnNode(NODE.name)
    assert free.nodes[asked.ref] == AllNodes()
    (term,) = allocation_result(bound, asked.ref)["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": [NODE.name]}]


@BOTH
def test_the_conditions_travel_with_the_result(ask):
    asked = claim(request("r"))

    answer = ask(cluster_of(fabric(WAITS)), asked)

    (result,) = allocation_result(answer, asked.ref)["devices"]["results"]
    assert (result["bindingConditions"], result["bindingFailureConditions"]) == (["Attached"], ["Broken"])


def test_a_device_that_waits_for_conditions_comes_last():
    local = pool(device("local", m=4))
    waiting = replace(fabric(WAITS), id=replace(local.id, name="a-fabric"))

    answer = by_search(cluster_of(waiting, local), claim(request("r")))

    ((result,),) = answer.results.values()
    assert result.device.device == "local"
