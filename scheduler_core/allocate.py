"""Allocate claims: which devices each request gets, or why none fit.

Everything is a value: claims, classes, pools, a node and what is already held go in, an ``Allocation`` or
an ``Unallocatable`` comes out. Claims of one call fit together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler_core.candidates import offers, select, selectors_of
from scheduler_core.constraints import Rule, applies, rule_of
from scheduler_core.explain import explain
from scheduler_core.ledger import Ledger
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef, DeviceClass
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import AllNodes, Matching, Node, NodeSelection, OnNode, Requirement
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.search import Problem, Search, Slot, Want


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What an allocation looks at.

    Shape: ``pools`` one per (driver, name); ``classes`` by name; ``allocated`` claims that hold devices,
           in any order.
    """

    pools: tuple[Pool, ...]
    classes: Mapping[str, DeviceClass]
    allocated: tuple[AllocatedClaim, ...] = ()


def allocate(claims: Sequence[Claim], cluster: Cluster, node: Node) -> Allocation | Unallocatable:
    """Allocate the claims together on one node, by policy ``first-fit``.

    Raises: InvalidClaim for an unknown class; SelectorError for a selector that does not compile, or
            fails on a device that was looked at.
    """
    pools = tuple(sorted(cluster.pools, key=lambda pool: pool.id))
    ledgers = books(pools, cluster.allocated)
    problem = _problem(claims, replace(cluster, pools=pools), node, ledgers)
    search = Search(problem)
    if not search.run():
        sorted_cluster = replace(cluster, pools=pools)
        return Unallocatable(node=node.name, reasons=explain(claims, sorted_cluster, node, problem, ledgers))
    return _allocation(claims, problem, search, pools, node)


def allocate_somewhere(
    claims: Sequence[Claim], cluster: Cluster, nodes: Sequence[Node]
) -> Allocation | Unallocatable:
    """Allocate on the first node that fits; the answer of the first node where none does."""
    first: Unallocatable | None = None
    for node in nodes:
        answer = allocate(claims, cluster, node)
        if isinstance(answer, Allocation):
            return answer
        first = first or answer
    if first is None:
        raise ValueError("allocate_somewhere needs at least one node")
    return first


def feasible_nodes(claims: Sequence[Claim], cluster: Cluster, nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the names of the nodes on which the claims fit."""
    return tuple(node.name for node in nodes if isinstance(allocate(claims, cluster, node), Allocation))


def books(pools: Sequence[Pool], allocated: Sequence[AllocatedClaim]) -> tuple[Ledger, ...]:
    """Return a ledger per pool, with everything that is held entered."""
    ledgers = tuple(Ledger(pool) for pool in pools)
    by_id = {(pool.id.driver, pool.id.name): ledger for pool, ledger in zip(pools, ledgers, strict=True)}
    for claim in allocated:
        for result in claim.results:
            ledger = by_id.get((result.device.driver, result.device.pool))
            if ledger is not None:
                ledger.record(result.device.device, str(claim.ref))
    return ledgers


def _problem(claims: Sequence[Claim], cluster: Cluster, node: Node, ledgers: Sequence[Ledger]) -> Problem:
    seen = offers(cluster.pools, node)
    all_seen = all(pool.is_complete for pool in cluster.pools if pool.is_seen_from(node))
    slots: list[Slot] = []
    rules: list[Rule] = []
    for number, claim in enumerate(claims):
        first_rule = len(rules)
        rules += [rule_of(constraint) for constraint in claim.constraints]
        for request in claim.requests:
            wants = []
            for option in request.alternatives:
                selectors = selectors_of(option, claim, cluster.classes)
                bound = tuple(
                    first_rule + index
                    for index, constraint in enumerate(claim.constraints)
                    if applies(constraint, option.name)
                )
                kind = (number, option.class_name, option.selectors, option.count, bound)
                candidates = tuple(select(selectors, seen)) if option.count or all_seen else ()
                wants.append(Want(option.name, option.count, candidates, bound, kind))
            slots.append(Slot(number, tuple(wants)))
    return Problem(tuple(slots), tuple(rules), ledgers)


def _allocation(
    claims: Sequence[Claim], problem: Problem, search: Search, pools: Sequence[Pool], node: Node
) -> Allocation:
    results: dict[ClaimRef, list[AllocatedDevice]] = {claim.ref: [] for claim in claims}
    selections: dict[ClaimRef, list[NodeSelection]] = {claim.ref: [] for claim in claims}
    for slot, (want, candidates) in zip(problem.slots, search.chosen, strict=True):
        ref = claims[slot.claim].ref
        for candidate in candidates:
            offer = candidate.offer
            pool = pools[offer.pool].id
            device = DeviceId(pool.driver, pool.name, offer.device.name)
            results[ref].append(AllocatedDevice(want.name, device))
            selections[ref].append(offer.device.nodes)
    return Allocation(
        node=node.name,
        results={ref: tuple(devices) for ref, devices in results.items()},
        nodes={ref: combined(selection, node) for ref, selection in selections.items()},
    )


def combined(selections: Sequence[NodeSelection], node: Node) -> NodeSelection:
    """Return from where several devices can be used together, seen from ``node`` (rule S8).

    A device of one node decides alone; otherwise all requirements must hold, each listed once.
    """
    requirements: dict[Requirement, None] = {}
    for selection in selections:
        match selection:
            case OnNode():
                return OnNode(node.name)
            case Matching(requirements=more):
                requirements |= dict.fromkeys(more)
            case AllNodes():
                pass
    return Matching(tuple(requirements)) if requirements else AllNodes()
