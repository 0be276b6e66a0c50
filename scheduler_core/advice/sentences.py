"""Remedies in words: the only place that says what a user could do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.advice.remedies import (
    AskForAmount,
    AskForLess,
    Change,
    DropAnnotation,
    DropConstraint,
    DropHint,
    EndClaims,
    MatchWiderPlace,
    PodChange,
    PodTogether,
    RelabelHint,
    Remedy,
    Reword,
    TakeFewer,
    Together,
    UseNode,
)
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.sentences import constraint_text

_CLAIMS: Final = 8  # claims that a sentence names before it says "and N more"
_NAMES: Final = 3  # devices or requests that a sentence names before it says "and N more"


def remedy_text(remedy: Remedy) -> str:
    """Return what to do, as a sentence without a full stop. Where a node is named, the claims fit there."""
    match remedy:
        case UseNode(node=node):
            return f"use node {node}"
        case EndClaims():
            return _ending(remedy)
        case Reword():
            return _wording(remedy)
        case TakeFewer(node=node, claim=claim, request=request, asked=asked, count=count):
            return (
                f"ask for {count} instead of {asked} devices in request {request} of {claim}: fits on {node}"
            )
        case AskForLess(node=node, claim=claim, request=request, capacity=name, asked=most, amount=amount):
            return (
                f"ask for {name} {amount} instead of {most} in request {request} of {claim}: fits on {node}"
            )
        case MatchWiderPlace(node=node, claims=claims, old=old, new=new):
            return f"match {new} instead of {old} in {_listed(claims)}: fits on {node}"
        case DropConstraint(node=node, claim=claim, constraint=constraint, place=place):
            dropped = f"constraints[{place}] of {claim}, {constraint_text(constraint)}"
            return f"leave out {dropped}: fits on {node}"
        case DropAnnotation(node=node, claim=claim, annotation=name):
            return f"leave out the annotation {name} of {claim}: fits on {node}"
        case Together() | PodTogether():
            return _both(remedy)
        case _:
            return _of_pod(remedy)


def _of_pod(remedy: PodChange) -> str:
    match remedy:
        case AskForAmount(node=node, asked=asked, amount=amount):
            return f"ask for {amount} instead of {asked}: fits on {node}"
        case RelabelHint(node=node, type=kind, old=old, new=new):
            where = f"in the selector of the hint for {kind}: fits on {node}"
            if remedy.change is Change.CORRECTION:
                return f"correct {old} to {new} {where}"
            return f"ask for {new} instead of {old} {where}"
        case DropHint(node=node, type=kind, hint=hint):
            return f"leave out {hint} for {kind}: fits on {node}"


def _both(remedy: Together | PodTogether) -> str:
    """Return both changes; the node is named once."""
    first, second = (remedy_text(one).removesuffix(f": fits on {remedy.node}") for one in remedy.steps)
    where = "" if isinstance(remedy.steps[-1], EndClaims) else f": fits on {remedy.node}"
    return f"{first}, and {second}{where}"


def _ending(remedy: EndClaims) -> str:
    count = len(remedy.held)
    named = "; ".join(map(_holding, remedy.held[:_CLAIMS]))
    named += f" and {count - _CLAIMS} more" if count > _CLAIMS else ""
    what = "end the claim that holds devices" if count == 1 else f"end {count} claims"
    few = "" if remedy.is_fewest else " (fewer may be enough: not all were tried)"
    return f"{what} on {remedy.node}: {named}{few}"


def _holding(claim: AllocatedClaim) -> str:
    names: list[str] = [one.device.device for one in claim.results if not one.admin_access]
    return f"{claim.ref} ({_listed(names)})"


def _wording(remedy: Reword) -> str:
    requests = f"request{'s' if len(remedy.requests) > 1 else ''} {_listed(remedy.requests)}"
    if remedy.change is Change.CORRECTION:
        return f"correct {remedy.old} to {remedy.new} in {requests}: fits on {remedy.node}"
    return f"ask for {remedy.new} instead of {remedy.old} in {requests}: fits on {remedy.node}"


def _listed(names: Sequence[object]) -> str:
    rest = len(names) - _NAMES
    shown = ", ".join(map(str, names[:_NAMES]))
    return f"{shown} and {rest} more" if rest > 0 else shown
