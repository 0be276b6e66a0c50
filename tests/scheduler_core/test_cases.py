"""The semantics as data: each file in cases/ is one situation and its right answer.

Answered by the plain search and by the engine, device by device; best-fit may give other devices, but only
valid ones, and only where there is an answer. ``upstream/`` has what Kubernetes' own allocator decides.

Fields: ``claims`` (flat v1beta1) to be allocated together on ``node`` or the first of ``nodes``;
``allocated`` claims hold devices; ``expect.allocation``, ``unschedulable``, ``allocatable``, ``node``,
``feasibleNodes``, ``nodeSelector``.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from scheduler_core.base.errors import CoreError, SelectorError
from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.selections import write_selection
from scheduler_core.dialects.mixins import pools
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT, best_fit
from scheduler_core.explain.allocate import allocate, allocate_somewhere, feasible_nodes
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import AllNodes, Node, OnNode
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.search.answer import with_share_ids
from tangram.conformance.allocations import Feasible, Listed
from tangram.conformance.answering import answer_of
from tangram.conformance.properties import failing
from tangram.conformance.situation import SHARE_ID, read_situation

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@dataclass(frozen=True)
class Plain:
    cluster: Cluster

    def allocate_somewhere(self, claims, nodes):
        return allocate_somewhere(claims, self.cluster, nodes)

    def feasible_nodes(self, claims, nodes):
        return feasible_nodes(claims, self.cluster, nodes)


BY = {"plain search": Plain, "engine": lambda cluster: Engine.of(cluster, FIRST_FIT)}


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path, by):
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
        check(expect, [decode_claim(obj) for obj in case["claims"]], BY[by](cluster), nodes)


def allocatable(cluster):
    return sorted(
        device.name
        for pool, ledger in zip(cluster.pools, ledgers_of(cluster.pools, cluster.allocated), strict=True)
        for device in pool.devices
        if ledger.admits(device.name)
    )


def check(expect, claims, core, nodes):
    if expect.get("unschedulable") == "SelectorError":
        with pytest.raises(SelectorError):
            core.allocate_somewhere(claims, nodes)
        return
    answer = core.allocate_somewhere(claims, nodes)
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
        assert list(core.feasible_nodes(claims, nodes).names) == expect["feasibleNodes"]
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


BY_NAME = [path for path in CASES if json.loads(path.read_text())["expect"].get("policy") != "first"]


@pytest.mark.parametrize("path", BY_NAME, ids=lambda path: path.stem)
def test_best_fit_gives_a_valid_answer_exactly_where_one_is_expected(path):
    case = json.loads(path.read_text())
    expect, situation = case["expect"], read_situation(case, by_name=True)
    if not situation.claims:
        return

    answer = answer_of(situation, best_fit())

    fits = "unschedulable" not in expect
    assert isinstance(answer, Allocation) is fits
    if isinstance(answer, Allocation):
        assert list(failing(expect.get("accept", ()), answer, situation)) == []
    elif isinstance(answer, Unallocatable):
        assert answer.cause == expect["unschedulable"]


UPSTREAM = [
    pytest.param(case, id=f"{path.stem}:{case['name']}")
    for path in sorted((Path(__file__).parent / "upstream").glob("*.json"))
    for case in json.loads(path.read_text())
]


def read(case):
    """Return what a case is about, None where the core refuses one of its objects."""
    try:
        return read_situation(case, by_name=False)
    except CoreError:
        return None


def plainly(situation):
    try:
        answer = allocate_somewhere(situation.claims, situation.cluster, situation.nodes)
    except CoreError as refusal:
        return refusal
    if not isinstance(answer, Allocation):
        return answer
    return with_share_ids(answer, situation.cluster.pools, lambda: SHARE_ID)


@pytest.mark.parametrize("case", UPSTREAM)
def test_kubernetes_own_cases_are_answered_device_by_device_and_validly_under_best_fit(case):
    form = Feasible if "feasible" in case["expect"] else Listed
    situation = read(case)
    if situation is None:
        assert "error" in case["expect"]
        return

    plain = form(situation, plainly(situation), is_exact=True)
    engine = form(situation, answer_of(situation, FIRST_FIT), is_exact=True)
    weighed = form(situation, answer_of(situation, best_fit()), is_exact=False)

    for answer in (plain, engine, weighed):
        assert list(answer.differences(case["expect"])) == []


def test_every_answer_is_found_without_a_change_to_the_books():
    assert len(CASES) >= 69
    assert allocate([], Cluster(pools=(), classes={}), Node("n")).results == {}
