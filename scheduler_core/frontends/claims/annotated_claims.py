"""Annotated claims on a node: joint allocation and partitions for the requests of ResourceClaims.

This module chooses devices for the annotations, the best first. The engine decides for each choice whether it
fits together with the rest of the claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_core.base.effort import EffortExceeded
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.request_devices import RequestDevices
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.reading import SCHEDULING
from scheduler_core.frontends.claims.claim_demands import Marks, SlotDemand, slot_demands
from scheduler_core.frontends.claims.fallback_search import searched_with_constraints
from scheduler_core.frontends.claims.pinned_choices import PinnedChoices
from scheduler_core.frontends.joint.choose import JointRefusal, answers, refusal, short
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import SPEC, spec_of
from scheduler_core.frontends.pods.hints import HINT, JOINT, joint_of
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, Reason, Unallocatable, Undecided


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
    engine: Engine,
    node: Node,
    table: NodeTable | None = None,
) -> Answer:
    """Allocate claims together on one node, by their annotations and the node's partitions.

    Raises: as ``Engine.allocate``.
    """
    plain = engine.allocate(claims, node)
    if not isinstance(plain, Allocation):
        return plain
    table = table or NodeTable()
    requests = engine.request_devices(claims, node)
    demands = list(slot_demands(claims, marks, requests, table))
    if not demands:
        return plain
    choices = PinnedChoices(engine, node, requests)
    try:
        found = _searched(claims, choices, demands, {}) or searched_with_constraints(
            claims, marks, choices, demands
        )
    except EffortExceeded as exceeded:
        why = "the search for devices that share the required scopes reached its bound"
        return Undecided(node=node.name, steps=int(exceeded.limit), why=why)
    if found is not None:
        return found
    explained = engine.request_devices(claims, node, reasons=True)
    reasons = _reasons(claims, explained, list(slot_demands(claims, marks, explained, table)))
    return Unallocatable(node=node.name, reasons=tuple(reasons))


def _searched(
    claims: Sequence[Claim],
    choices: PinnedChoices,
    demands: Sequence[SlotDemand],
    pins: Mapping[int, Sequence[DeviceId]],
) -> Allocation | None:
    """Return the first allocation over all choices of all demands, None where there is none."""
    if not demands:
        return choices.decide(claims, pins)
    first, *rest = demands
    for node_devices, cards in answers(first.demand, choices.effort):
        chosen = {
            request: choices.devices(request, mine)
            for request, mine in zip(first.requests, (node_devices, *cards), strict=True)
        }
        found = _searched(claims, choices, rest, {**pins, **chosen})
        if found is not None:
            return found
    return None


def _reasons(
    claims: Sequence[Claim], requests: Sequence[RequestDevices], demands: Sequence[SlotDemand]
) -> Iterator[Reason]:
    """Yield the reason per demand why no choice fits."""
    for one in demands:
        found: JointRefusal = short(one.demand) or refusal(one.demand)
        ref = claims[requests[one.requests[0]].claim].ref
        yield Reason(ref, found.kind, found.cause, found.detail)
