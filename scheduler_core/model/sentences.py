"""Obstacles and constraints as text: the only place that puts them into words.

A sentence about a device names it ``it`` unless the caller gives the name, so that one text can stand
behind a list of devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.model.claim import Constraint
from scheduler_core.model.obstacles import (
    ConstraintRefuses,
    ExpressionRefuses,
    Held,
    InUse,
    InvalidDevice,
    Missing,
    NoCommonGroup,
    Obstacle,
    OthersDoNotFit,
    ParentsInUse,
    PartsInUse,
    ScopeReserved,
    SelectorFails,
    SharesConsumed,
    TaintNotTolerated,
    TooLittleLeft,
    UnknownDevice,
)

_NAMES: Final = 3  # devices of one holder that a sentence names


def obstacle_text(obstacle: Obstacle, device: str = "it") -> str:
    """Return why a device cannot be allocated, as a sentence without a full stop."""
    match obstacle:
        case UnknownDevice(pool=pool):
            return f"pool {pool} has no such device"
        case InvalidDevice(reason=reason):
            return f"{device} is invalid: {reason}"
        case TaintNotTolerated(taint=taint):
            return f"taint {taint.key}={taint.value}:{taint.effect} is not tolerated"
        case ScopeReserved(scope=scope, value=value, by=by):
            return f"{by} holds {scope} {value} exclusively"
        case SelectorFails(error=error):
            return error
        case ConstraintRefuses(constraint=constraint):
            return f"{constraint_text(constraint)} does not allow {device} with the claim's other devices"
        case OthersDoNotFit():
            return f"{device} is free, but with it the other requests would not fit"
        case _:
            return _use_text(obstacle, device)


def _use_text(
    obstacle: InUse
    | PartsInUse
    | ParentsInUse
    | TooLittleLeft
    | SharesConsumed
    | NoCommonGroup
    | ExpressionRefuses,
    device: str,
) -> str:
    match obstacle:
        case InUse(holders=holders):
            return f"{device} is held by {', '.join(dict.fromkeys(one.by for one in holders))}"
        case PartsInUse(holders=holders):
            return f"parts of {device} are held by {_by_holder(holders)}"
        case ParentsInUse(holders=holders):
            return f"{device} is cut from {_one_by_one(holders)}"
        case TooLittleLeft(missing=missing):
            return _all_missing(missing, missing[0].source)
        case SharesConsumed(missing=missing):
            return _all_missing(missing, device)
        case NoCommonGroup(source=source, holders=holders):
            users = f"the devices that use {source}"
            return f"{device} shares no compatibility group with {users}: held by {_by_holder(holders)}"
        case ExpressionRefuses(holders=holders):
            return f"{device} is not compatible with {_one_by_one(holders)}"


def _all_missing(missing: Sequence[Missing], subject: str) -> str:
    """Return which amount is missing first and who holds the rest of it; then how many more are missing."""
    first, *others = missing
    rest = f"; {len(others)} more dimension{'s'[: len(others) > 1]} missing" if others else ""
    if not first.holders:
        amounts = f"{first.needed} needed, {first.total} in all"
        return f"{subject} has too little {first.dimension} even when unused: {amounts}{rest}"
    amounts = f"{first.needed} needed, {first.left} of {first.total} left"
    holders = f"held by {_by_holder(first.holders)}"
    return f"{subject} has too little {first.dimension} left: {amounts}; {holders}{rest}"


def constraint_text(constraint: Constraint) -> str:
    """Return a constraint as a claim writes it: its kind and its attribute."""
    kind = type(constraint).__name__
    return f"{kind[:1].lower()}{kind[1:]} {constraint.attribute}"


def _one_by_one(holders: Sequence[Held]) -> str:
    return " and ".join(f"{one.device}, held by {one.by}" for one in holders)


def _by_holder(holders: Sequence[Held]) -> str:
    """Return each holder once, with the devices that it holds."""
    devices: dict[str, list[str]] = {}
    for one in holders:
        devices.setdefault(one.by, []).append(one.device)
    found = []
    for by, names in devices.items():
        rest = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        found.append(f"{by} ({', '.join(names[:_NAMES])}{rest})")
    return ", ".join(found)
