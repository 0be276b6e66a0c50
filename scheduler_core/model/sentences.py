"""Obstacles and constraints as text: the only place that puts them into words.

A sentence about a device names it ``it`` unless the caller gives the name, so that one text can stand
behind a list of devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.base.errors import shown
from scheduler_core.base.limits import RESULTS
from scheduler_core.model.claim import Constraint
from scheduler_core.model.funnel import Stage, StageKind, ValuesPresent
from scheduler_core.model.names import memory_slice
from scheduler_core.model.obstacles import (
    ConstraintRefuses,
    ExpressionRefuses,
    Held,
    InUse,
    InvalidDevice,
    KubeletCannotSkip,
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
from scheduler_core.model.result import Unallocatable

_VERBS: Final = (
    ("needs ", "needs "),
    ("no device matches its class and selectors: ", "matches no device: "),
)
"""How reasons begin that go on after the name of a request, and how they do so."""
_NAMES: Final = 3  # devices of one holder that a sentence names


def too_many_devices(least: int) -> str:
    """Return why no node can hold a claim for so many devices; empty if some node can."""
    return f"needs at least {least} devices; a claim can hold {RESULTS}" if least > RESULTS else ""


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
        case KubeletCannotSkip(why=why):
            return why
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
            return _whole_text(holders)
        case TooLittleLeft(missing=missing, whole=whole):
            return _whole_of(missing[0].source, whole) if whole else _too_little(missing)
        case SharesConsumed(missing=missing):
            return _all_missing(missing, device)
        case NoCommonGroup(source=source, holders=holders):
            users = f"the devices that use {source}"
            return f"{device} shares no compatibility group with {users}: held by {_by_holder(holders)}"
        case ExpressionRefuses(holders=holders):
            return f"{device} is not compatible with {_one_by_one(holders)}"


def _whole_text(holders: Sequence[Held]) -> str:
    return " and ".join(_whole_of(one.device, (one,)) for one in holders)


def _whole_of(source: str, holders: Sequence[Held]) -> str:
    return f"whole {source} is held by {', '.join(dict.fromkeys(one.by for one in holders))}"


def _too_little(missing: Sequence[Missing]) -> str:
    """Return which memory slices are held and by whom; where none is, which amounts are missing."""
    source = missing[0].source
    slices = {memory_slice(one.dimension): one for one in missing if one.source == source and one.holders}
    numbers = sorted(number for number in slices if number is not None)
    if not numbers or memory_slice(missing[0].dimension) not in numbers:
        return _all_missing(missing, source)
    holders = dict.fromkeys(one for number in numbers for one in slices[number].holders)
    what = f"memory slice {numbers[0]}" if len(numbers) == 1 else f"memory slices {_ranges(numbers)}"
    return f"{what} of {source} {'is' if len(numbers) == 1 else 'are'} held by {_by_holder(tuple(holders))}"


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers with those in a row joined: 0-3, 5."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and rows[-1][-1] == number - 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ", ".join(str(row[0]) if len(row) == 1 else f"{row[0]}-{row[-1]}" for row in rows)


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


def stages_text(stages: Sequence[Stage]) -> str:
    """Return how many devices each stage leaves, up to the first that leaves none, as one sentence."""
    found, before = [], 0
    for stage in stages:
        if stage.kind is not StageKind.KNOWN:
            what = shown(stage.asked) if stage.place else f"{stage.kind} {stage.asked}"
            at = f"{stage.place} {what}" if stage.place else what
            found.append(f"{at} leaves {stage.left} of {before}")
        before = stage.left
        if not stage.left:
            found += [values_text(one) for one in stage.values]
            break
    return ", ".join(found) or "the node has no device"


def values_text(values: ValuesPresent, most: int = 8) -> str:
    """Return which values the devices have, and which was probably meant; without a semicolon."""
    name = values.name.rpartition("/")[2]
    if not values.found:
        meant = f", did you mean {values.nearest}?" if values.nearest else ""
        return f"no device has {values.name}{meant}"
    rest = len(values.found) - most
    listed = ", ".join(list(values.found)[:most]) + (f" and {rest} more" if rest > 0 else "")
    nearest = f" (nearest to {values.wanted[0]}: {values.nearest})" if values.nearest else ""
    return f"values of {name} present: {listed}{nearest}"


def decisive_text(refusal: Unallocatable) -> str:
    """Return the decisive reason in short, as a sentence without a full stop; it names no node.

    Shape: the rest of a reason lists devices, and would change with every claim. A claim without a namespace
           is of no object and is not named.
    """
    reason = refusal.reasons[0]
    of_claim = f" of claim {reason.claim}" if reason.claim.namespace else ""
    detail = reason.detail.partition(";")[0].replace(f" of node {refusal.node} ", " ")
    said = next((verb + detail[len(begin) :] for begin, verb in _VERBS if detail.startswith(begin)), "")
    return f"request {reason.request}{of_claim} {said or f'cannot be met: {detail}'}"


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
