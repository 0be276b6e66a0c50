"""The semantics as data: each file in cases/ is one situation and its only right answer.

Fields: ``claims`` (flat v1beta1) to be allocated together on ``node`` or the first of ``nodes``;
``allocated`` claims hold devices; ``expect.allocation``, ``unschedulable``, ``allocatable``, ``node``,
``feasibleNodes``, ``nodeSelector``.
"""

import json
from pathlib import Path

import pytest

from scheduler_core.allocate import Cluster, allocate, allocate_somewhere, books, feasible_nodes
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.selections import write_selection
from scheduler_core.errors import SelectorError
from scheduler_core.mixins import pools
from scheduler_core.model.nodes import AllNodes, Node, OnNode
from scheduler_core.model.result import Allocation

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path):
    case = json.loads(path.read_text())
    cluster = Cluster(
        pools=pools(decode_slice(obj) for obj in case["slices"]),
        classes={obj["metadata"]["name"]: decode_class(obj) for obj in case["classes"]},
        allocated=tuple(found for obj in case["allocated"] if (found := decode_allocated_claim(obj))),
    )
    nodes = [Node(n["name"], n.get("labels") or {}) for n in case.get("nodes") or [case["node"]]]
    expect = case["expect"]

    if "allocatable" in expect:
        assert allocatable(cluster) == sorted(expect["allocatable"])
    if case["claims"]:
        check(expect, [decode_claim(obj) for obj in case["claims"]], cluster, nodes)


def allocatable(cluster):
    return sorted(
        device.name
        for pool, ledger in zip(cluster.pools, books(cluster.pools, cluster.allocated), strict=True)
        for device in pool.devices
        if ledger.admits(device.name)
    )


def check(expect, claims, cluster, nodes):
    if expect.get("unschedulable") == "SelectorError":
        with pytest.raises(SelectorError):
            allocate_somewhere(claims, cluster, nodes)
        return
    answer = allocate_somewhere(claims, cluster, nodes)
    if "unschedulable" in expect:
        assert not isinstance(answer, Allocation)
        assert answer.cause == expect["unschedulable"]
        return
    assert isinstance(answer, Allocation), answer
    if expect.get("allocation") is not None:
        assert written(answer) == {
            name: ordered(entry["results"]) for name, entry in expect["allocation"].items()
        }
    if "node" in expect:
        assert answer.node == expect["node"]
    if "feasibleNodes" in expect:
        assert list(feasible_nodes(claims, cluster, nodes)) == expect["feasibleNodes"]
    if "nodeSelector" in expect:
        assert selector(answer.nodes[claims[0].ref]) == expect["nodeSelector"]


def written(answer):
    return {
        ref.name: ordered(
            {
                "request": r.request,
                "driver": r.device.driver,
                "pool": r.device.pool,
                "device": r.device.device,
            }
            for r in results
        )
        for ref, results in answer.results.items()
    }


def ordered(results):
    return sorted(results, key=lambda result: (result["request"], result["device"]))


def selector(selection):
    if isinstance(selection, AllNodes):
        return None
    if isinstance(selection, OnNode):
        return [{"key": "metadata.name", "operator": "In", "values": [selection.name]}]
    return write_selection(selection)["nodeSelector"]["nodeSelectorTerms"][0]["matchExpressions"]


def test_every_answer_is_found_without_a_change_to_the_books():
    assert len(CASES) >= 69
    assert allocate([], Cluster(pools=(), classes={}), Node("n")).results == {}
