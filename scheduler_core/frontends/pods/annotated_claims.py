"""Annotated claims on a node: joint allocation and partitions for the requests of ResourceClaims.

What the annotations ask for is chosen here, the best first; each choice is put to the core's search, which
alone decides whether it fits, together with everything else that the claims ask for.
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
from scheduler_core.frontends.partitions.table import SPEC, spec_of
from scheduler_core.frontends.pods.claim_demands import Marks, Pins, SlotDemand, pinned, slot_demands
from scheduler_core.frontends.pods.fallback_search import searched_with_constraints
from scheduler_core.frontends.pods.hints import HINT, JOINT, joint_of
from scheduler_core.frontends.pods.place import NodeTable
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, Reason, Unallocatable, Undecided
from scheduler_core.search.answer import allocation
from scheduler_core.search.depth_first import Problem, Search
from scheduler_core.search.problem import problem_of


def marks_of(obj: Mapping[str, Any]) -> Marks:
    """Return what the annotations of a ResourceClaim say. Raises: InvalidPod."""
    subject = subject_of(obj, "ResourceClaim")
    fields = Fields(obj, subject, "", InvalidPod)
    annotations = fields.optional("metadata").optional("annotations")
    joint = spec = None
    if annotations.has(SCHEDULING + HINT):
        rule = "is for pods: a claim says it with selectors, counts and constraints"
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
    """Allocate claims together on one node, heeding their annotations and the node's partitions.

    Raises: as ``scheduler_core.explain.allocate.allocate``.
    """
    plain = allocate(claims, cluster, node)
    if not isinstance(plain, Allocation):
        return plain
    seen = tuple(sorted((pool.as_seen_from(node) for pool in cluster.pools), key=lambda pool: pool.id))
    ordered = replace(cluster, pools=seen)
    problem = problem_of(claims, ordered, node)
    demands = list(slot_demands(claims, marks, problem, table or NodeTable()))
    if not demands:
        return plain
    effort = Effort(most=DECISION)
    try:
        search = _settled(problem, demands, {}, effort) or searched_with_constraints(
            claims, marks, ordered, node, demands, effort=effort
        )
    except EffortExceeded as exceeded:
        why = "the search for devices that stand together found no end"
        return Undecided(node=node.name, steps=int(exceeded.limit), why=why)
    if search is not None:
        return allocation(claims, search.problem, search.chosen, cluster=ordered, node=node)
    return Unallocatable(node=node.name, reasons=tuple(_reasons(claims, problem, demands)))


def _settled(problem: Problem, demands: Sequence[SlotDemand], pins: Pins, effort: Effort) -> Search | None:
    """Return the first search that ends well, over every choice of every demand."""
    if not demands:
        search = Search(pinned(problem, pins), effort)
        return search if search.run() else None
    first, *rest = demands
    for units, cards in answers(first.demand):
        effort.step()
        chosen = dict(pins)
        for request, mine in zip(first.requests, (units, *cards), strict=True):
            candidates = problem.requests[request].alternatives[0].candidates
            chosen[request] = [candidates[unit.index] for unit in mine]
        found = _settled(problem, rest, chosen, effort)
        if found is not None:
            return found
    return None


def _reasons(claims: Sequence[Claim], problem: Problem, demands: Sequence[SlotDemand]) -> Iterator[Reason]:
    """Yield why no choice went well, per demand."""
    for one in demands:
        found: JointRefusal = short(one.demand) or refusal(one.demand)
        ref = claims[problem.requests[one.requests[0]].claim].ref
        yield Reason(ref, found.kind, found.cause, found.detail)
