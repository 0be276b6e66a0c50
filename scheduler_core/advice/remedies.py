"""What would make claims fit that do not: one value per kind of change, and the question after the change.

``advise`` finds them. Every remedy that it returns was checked: the allocator gives devices for the changed
question. Nothing is searched here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import (
    AllocatedClaim,
    Claim,
    ClaimRef,
    Constraint,
    DeviceRequest,
    MatchAttribute,
)
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import QualifiedName


@dataclass(frozen=True, slots=True, kw_only=True)
class UseNode:
    """The claims fit on a node that was not asked about."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndClaims:
    """The claims fit on a node once other claims end.

    Shape: ``held`` are those claims. ``is_fewest`` where no fewer claims of the
           nodes asked about would do; otherwise the search for fewer ended at its bound, and one of them
           may not be needed.
    """

    node: str
    held: tuple[AllocatedClaim, ...]
    is_fewest: bool


class Change(StrEnum):
    """Why an expression is changed."""

    CORRECTION = "correction"
    OTHER_VALUE = "other value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reword:
    """The claims fit on a node with another expression in their selectors.

    Shape: a ``correction`` replaces what no device has; an ``other value`` what devices have that are not
           free. ``requests`` are the requests and alternatives that have the expression ``before``;
           ``old`` and ``new`` are the value or attribute that differs.
    """

    node: str
    change: Change
    claims: tuple[ClaimRef, ...]
    requests: tuple[str, ...]
    before: str
    after: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeFewer:
    """The claims fit on a node if a request asks for fewer devices. Shape: ``count`` is the most that fit."""

    node: str
    claim: ClaimRef
    request: str
    asked: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForLess:
    """The claims fit on a node if a request asks for less of a capacity of each device.

    Shape: ``amount`` is the most that some matching device has with which the claims fit.
    """

    node: str
    claim: ClaimRef
    request: str
    capacity: str
    asked: Quantity
    amount: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint:
    """The claims fit on a node without one of their constraints."""

    node: str
    claim: ClaimRef
    constraint: Constraint
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchWiderPlace:
    """The claims fit on a node if their constraints match an attribute of a wider place.

    Shape: every matchAttribute of the attribute ``old`` is changed; ``claims`` are those that have one.
    """

    node: str
    claims: tuple[ClaimRef, ...]
    old: QualifiedName
    new: QualifiedName


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForAmount:
    """A pod fits on a node with other amounts. Shape: ``asked`` and ``amount`` as manifests write them."""

    node: str
    asked: str
    amount: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelabelHint:
    """A pod fits on a node with another key or value in the selector of a hint. Shape: ``type`` of device."""

    node: str
    change: Change
    type: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropHint:
    """A pod fits on a node without one thing that its annotations ask. Shape: ``type`` of the devices."""

    node: str
    type: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropAnnotation:
    """The claims fit on a node without one annotation of a claim. Shape: ``annotation`` with its prefix."""

    node: str
    claim: ClaimRef
    annotation: str


PodChange = AskForAmount | RelabelHint | DropHint
"""A change of a pod that asks by amounts."""
SingleChange = UseNode | EndClaims | Reword | TakeFewer | AskForLess | MatchWiderPlace | DropConstraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """The claims fit on a node after two changes, of which neither is enough by itself.

    Shape: ``steps`` in order: the second is a change of the claims that the first leads to.
    """

    node: str
    steps: tuple[SingleChange, SingleChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTogether:
    """A pod fits on a node after two changes, of which neither is enough. Shape: as ``Together``."""

    node: str
    steps: tuple[PodChange, PodChange | EndClaims]


ClaimRemedy = SingleChange | Together
PodRemedy = UseNode | EndClaims | PodChange | PodTogether
Remedy = ClaimRemedy | PodRemedy | DropAnnotation


def changed(
    remedy: ClaimRemedy, claims: Sequence[Claim], cluster: Cluster
) -> tuple[tuple[Claim, ...], Cluster]:
    """Return the question that a remedy leads to. On the remedy's node it has an answer."""
    steps = remedy.steps if isinstance(remedy, Together) else (remedy,)
    gone = [held for one in steps if isinstance(one, EndClaims) for held in one.held]
    left = tuple(one for one in cluster.allocated if one not in gone)
    return changed_claims(remedy, claims), replace(cluster, allocated=left)


def changed_claims(remedy: ClaimRemedy, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return what is asked for after a remedy."""
    match remedy:
        case UseNode() | EndClaims():
            return tuple(claims)
        case Reword(before=before, after=after):
            return reworded(claims, before, after)
        case TakeFewer():
            return tuple(with_count(one, remedy) for one in claims)
        case AskForLess():
            return tuple(with_less(one, remedy) for one in claims)
        case MatchWiderPlace(old=old, new=new):
            return tuple(_matching(one, old, new) for one in claims)
        case DropConstraint():
            return tuple(_without(one, remedy) for one in claims)
        case Together(steps=(first, second)):
            return changed_claims(second, changed_claims(first, claims))


def reworded(claims: Sequence[Claim], before: str, after: str) -> tuple[Claim, ...]:
    """Return the claims with one expression of their selectors replaced wherever it stands."""

    def option(one: DeviceRequest) -> DeviceRequest:
        return replace(one, selectors=tuple(after if text == before else text for text in one.selectors))

    return tuple(_with_options(claim, option) for claim in claims)


def with_count(claim: Claim, remedy: TakeFewer) -> Claim:
    """Return the claim with another number of devices for the request that a remedy is about."""
    if claim.ref != remedy.claim:
        return claim

    def option(one: DeviceRequest) -> DeviceRequest:
        return replace(one, count=remedy.count) if one.name == remedy.request else one

    return _with_options(claim, option)


def with_less(claim: Claim, remedy: AskForLess) -> Claim:
    """Return the claim with another amount of a capacity for the request that a remedy is about."""
    if claim.ref != remedy.claim:
        return claim

    def option(one: DeviceRequest) -> DeviceRequest:
        if one.name != remedy.request:
            return one
        return replace(one, capacity={**one.capacity, remedy.capacity: remedy.amount})

    return _with_options(claim, option)


def _matching(claim: Claim, old: QualifiedName, new: QualifiedName) -> Claim:
    constraints = (
        replace(one, attribute=new) if isinstance(one, MatchAttribute) and one.attribute == old else one
        for one in claim.constraints
    )
    return replace(claim, constraints=tuple(constraints))


def _without(claim: Claim, remedy: DropConstraint) -> Claim:
    if claim.ref != remedy.claim:
        return claim
    kept = (one for place, one in enumerate(claim.constraints) if place != remedy.place)
    return replace(claim, constraints=tuple(kept))


def _with_options(claim: Claim, option: Callable[[DeviceRequest], DeviceRequest]) -> Claim:
    requests = tuple(
        replace(request, alternatives=tuple(map(option, request.alternatives))) for request in claim.requests
    )
    return replace(claim, requests=requests)
