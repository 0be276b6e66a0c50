"""Annotated claims on a node: joint allocation and partitions for the requests of ResourceClaims.

This module chooses devices for the annotations, the best first. The core's search decides for each choice
whether it fits together with the rest of the claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.explain.allocate import allocate
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.reading import SCHEDULING
from scheduler_core.frontends.joint.choose import JointRefusal, answers, refusal, short
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import SPEC, spec_of
from scheduler_core.frontends.pods.claim_demands import Marks, Pins, SlotDemand, pinned, slot_demands
from scheduler_core.frontends.pods.fallback_search import searched_with_constraints
from scheduler_core.frontends.pods.hints import HINT, JOINT, joint_of
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, Reason, Unallocatable, Undecided
from scheduler_core.search.answer import allocation
from scheduler_core.search.depth_first import Problem, Search
from scheduler_core.search.problem import problem_of


def marks_of(obj: Mapping[str, Any]) -> Marks:
    """Return the annotations of a ResourceClaim. Raises: InvalidPod."""
    subject = subject_of(obj, "ResourceClaim")
    fields = Fields(obj, subject, "", InvalidPod)
    annotations = fields.optional("metadata").optional("annotations")
    joint = spec = None
    if annotations.has(SCHEDULING + HINT):
        rule = "is for pods: a claim uses selectors, counts and constraints instead"
        raise annotations.refuse(SCHEDULING + HINT, rule)
    if annotations.has(SCHEDULING + JOINT):
        requests = fields.child("spec").optional("devices").children("requests")
        names = tuple(one.text("name") for one in requests)
        joint = joint_of(subject, annotations.text(SCHEDULING + JOINT), names)
    if annotations.has(SCHEDULING + SPEC):
        spec = spec_of(subject, annotations.text(SCHEDULING + SPEC))
    return Marks(joint, spec)


def allocate_marked(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    cluster: Cluster,
    node: Node,
    table: NodeTable | None = None,
) -> Answer:
    """Allocate claims together on one node, by their annotations and the node's partitions.

    Raises: as ``scheduler_core.explain.allocate.allocate``.
    """
    plain = allocate(claims, cluster, node)
    if not isinstance(plain, Allocation):
        return plain
    seen = cluster.pools_seen_from(node)
    ordered = replace(cluster, pools=seen)
    problem = problem_of(claims, ordered, node)
    demands = list(slot_demands(claims, marks, problem, table or NodeTable()))
    if not demands:
        return plain
    effort = Effort(most=DECISION)
    try:
        search = _searched(problem, demands, {}, effort) or searched_with_constraints(
            claims, marks, ordered, node, demands, effort=effort
        )
    except EffortExceeded as exceeded:
        why = "the search for devices that share the required scopes reached its bound"
        return Undecided(node=node.name, steps=int(exceeded.limit), why=why)
    if search is not None:
        return allocation(claims, search.problem, search.chosen, cluster=ordered, node=node)
    return Unallocatable(node=node.name, reasons=tuple(_reasons(claims, problem, demands)))


def _searched(problem: Problem, demands: Sequence[SlotDemand], pins: Pins, effort: Effort) -> Search | None:
    """Return the first successful search over all choices of all demands, None where there is none."""
    if not demands:
        search = Search(pinned(problem, pins), effort)
        return search if search.run() else None
    first, *rest = demands
    for node_devices, cards in answers(first.demand, effort):
        effort.step()
        chosen = dict(pins)
        for request, mine in zip(first.requests, (node_devices, *cards), strict=True):
            candidates = problem.requests[request].alternatives[0].candidates
            chosen[request] = [candidates[node_device.index] for node_device in mine]
        found = _searched(problem, rest, chosen, effort)
        if found is not None:
            return found
    return None


def _reasons(claims: Sequence[Claim], problem: Problem, demands: Sequence[SlotDemand]) -> Iterator[Reason]:
    """Yield the reason per demand why no choice fits."""
    for one in demands:
        found: JointRefusal = short(one.demand) or refusal(one.demand)
        ref = claims[problem.requests[one.requests[0]].claim].ref
        yield Reason(ref, found.kind, found.cause, found.detail)
