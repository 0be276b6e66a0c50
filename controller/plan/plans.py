"""Plans: what is written for a pod, as values. ``controller.run.writer`` carries them out step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.classes.turns import StatusWrite
from controller.decide.amounts import Made
from controller.decide.decisions import Placed, Served
from controller.decide.question import AmountsWanted
from controller.model.pods import Pod, PodRef
from controller.plan.documents import new_claim
from scheduler_core.codec.allocations import allocation_result
from scheduler_core.frontends.pods.written_claim import claim_document, held_claim
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWrite:
    """An allocation to write.

    Shape: ``document`` is the claim as it was read, or a new one where ``is_new``; ``allocation`` has no
           time stamp yet; ``instead`` is a claim of that name whose spec is another one, to be deleted first.
    """

    ref: ClaimRef
    document: Mapping[str, Any]
    allocation: Mapping[str, Any]
    is_new: bool = False
    instead: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The writes for a pod: its claims in order, then its gate, then its condition.

    Shape: ``is_told`` where our condition says that it waits; ``holds`` are what the claims will hold.
    """

    pod: Pod
    node: str = ""
    claims: tuple[ClaimWrite, ...] = ()
    is_gated: bool = False
    is_told: bool = False
    holds: tuple[AllocatedClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """The writes for a group: the claims of all members, then all gates, then all conditions."""

    members: tuple[Placement, ...]

    @property
    def claims(self) -> tuple[ClaimWrite, ...]:
        """Return the claims of all members."""
        return tuple(one for member in self.members for one in member.claims)


@dataclass(frozen=True, slots=True)
class Release:
    """Take the allocation of a claim away, if none of its consumers is left but those in ``gone`` (UIDs).

    Shape: ``unbound`` are pods with their UIDs; where one of them has a node by now, nothing is taken away.
    """

    claim: ClaimRef
    uid: str
    gone: frozenset[str]
    unbound: tuple[tuple[PodRef, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Tell:
    """Set our condition of a pod to False with a message."""

    pod: PodRef
    uid: str
    message: str


@dataclass(frozen=True, slots=True)
class LetGo:
    """Remove our gate of a pod without devices, so that others see that it cannot be scheduled."""

    pod: PodRef
    uid: str


Plan = Placement | GroupPlacement | Release | Tell | LetGo | StatusWrite


def about(plan: Plan) -> str:
    """Return what a plan writes, in words."""
    match plan:
        case Placement(pod=pod):
            return f"the allocation for pod {pod.ref}"
        case GroupPlacement(members=members):
            return f"the allocation for the {len(members)} pods of the group of pod {members[0].pod.ref}"
        case Release(claim=claim):
            return f"the release of claim {claim}"
        case Tell(pod=ref):
            return f"the condition of pod {ref}"
        case LetGo(pod=ref):
            return f"the removal of the gate of pod {ref}"
        case StatusWrite(name=name):
            return f"the status of ResourceClass {name}"


def placement_of(decision: Placed | Served) -> Placement:
    """Return the writes for a decision."""
    pod = decision.question.pod
    plan = Placement(pod=pod, is_gated=pod.is_gated, is_told=pod.told is not None)
    if isinstance(decision, Served):
        return plan
    writes = list(_claims(decision))
    if decision.made is not None and decision.question.amounts is not None:
        writes.append(_amounts(decision, decision.made, decision.question.amounts))
    holds = tuple(_held(one, pod.uid) for one in writes)
    return replace(plan, node=decision.node, claims=tuple(writes), holds=holds)


def _claims(decision: Placed) -> Iterator[ClaimWrite]:
    for one in decision.claims if decision.answer is not None else ():
        assert decision.answer is not None
        ref = one.asked.ref
        allocation = allocation_result(decision.answer, ref)
        if one.seen is not None and one.seen.document is not None:
            yield ClaimWrite(ref=ref, document=one.seen.document, allocation=allocation)
        else:
            document = new_claim(ref, one.spec or {}, decision.question.pod)
            yield ClaimWrite(ref=ref, document=document, allocation=allocation, is_new=True)


def _amounts(decision: Placed, made: Made, wanted: AmountsWanted) -> ClaimWrite:
    """Return the write of the claim for amounts. A spec cannot change, so another one is another object."""
    metadata = new_claim(wanted.ref, {}, decision.question.pod)["metadata"]
    document = claim_document(
        made.requests, node=decision.node, metadata=metadata, ask=made.ask, classes=decision.classes
    )
    allocation = document["status"]["allocation"]
    known = None if wanted.seen is None else wanted.seen.document
    if known is not None and known.get("spec") == document["spec"]:
        return ClaimWrite(ref=wanted.ref, document=known, allocation=allocation)
    new = {key: value for key, value in document.items() if key != "status"}
    return ClaimWrite(ref=wanted.ref, document=new, allocation=allocation, is_new=True, instead=known)


def _held(write: ClaimWrite, pod: str) -> AllocatedClaim:
    """Return what a claim will hold, under a key of its own while it is in flight."""
    held = held_claim({**write.document, "status": {"allocation": write.allocation}})
    assert held is not None, "the status has an allocation"
    return replace(held, ref=write.ref, uid=ClaimUid(f"in flight for pod {pod}: {write.ref.name}"))
