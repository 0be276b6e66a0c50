"""What there is to say about claims that do not fit: values that carry the amounts, holders and names.

Found by ``scheduler_core.explain.refusal_details``, reached from ``Unallocatable``. Nothing here is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.device import DeviceId, DeviceName, SourceName

_NAMES: Final = 3  # devices of one holder that a sentence names


class Hindrance(StrEnum):
    """What kind of thing keeps a device from a request."""

    HELD = "Held"
    """A claim holds it."""
    RELATED = "Related"
    """A claim holds what it is cut from, or what is cut from it."""
    SHORT = "Short"
    """A source has too little left, or never had enough."""
    CONSUMED = "Consumed"
    """Shares of it have consumed too much of its capacity."""
    GROUPS = "CompatibilityGroups"
    """It has no group in common with what is in use of a source."""
    EXPRESSION = "CompatibleOnlyWith"
    """Its expression, or that of a device in use, refuses the other."""
    TAINT = "Taint"
    """It has a taint that the request does not tolerate."""
    SCOPE = "ExclusiveScope"
    """It stands in a scope that another claim keeps to itself."""
    SELECTOR = "SelectorError"
    """A selector fails on it."""
    CONSTRAINT = "Constraint"
    """A constraint of the claim keeps it from the devices chosen before."""
    NO_ROOM = "NoRoom"
    """Nothing bars it, but with it the other requests would not fit."""


@dataclass(frozen=True, slots=True)
class Held:
    """A device in use, and who holds it: a claim, or a request of the claims that were asked about."""

    device: DeviceName
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """One dimension of one source of which too little is left.

    Shape: ``source`` is the device itself where its shares consume it; ``left`` is never negative;
           ``holders`` in pool order, empty where the source is too small even when free.
    Units: those of the dimension.
    """

    source: SourceName
    dimension: str
    needed: Quantity
    left: Quantity
    total: Quantity
    holders: tuple[Held, ...]

    def __str__(self) -> str:
        amounts = f"needs {self.needed}, {self.left} of {self.total} left"
        return f"{self.dimension} of {self.source}: {amounts}; held by {_by_holder(self.holders)}"


def _by_holder(holders: tuple[Held, ...]) -> str:
    """Return each holder once, with the devices that it holds."""
    devices: dict[str, list[str]] = {}
    for one in holders:
        devices.setdefault(one.by, []).append(one.device)
    found = []
    for by, names in devices.items():
        rest = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        found.append(f"{by} ({', '.join(names[:_NAMES])}{rest})")
    return ", ".join(found) or "nobody"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a device could not be had.

    Shape: ``text`` follows the device's name; ``missing`` has the amounts where amounts are the reason;
           ``holders`` the devices in use that are in the way, in pool order, empty where none are.
    """

    hindrance: Hindrance
    text: str
    holders: tuple[Held, ...] = ()
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class Considered:
    """A device that a request matches. Shape: ``obstacle`` is None where it could be had alone."""

    device: DeviceId
    obstacle: Obstacle | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one request, or one alternative of it, asks for and finds.

    Shape: ``needed`` devices of ``matched``, which are in order of preference; 0 where all are wanted and
           none matches.
    """

    claim: ClaimRef
    request: str
    needed: int
    matched: tuple[Considered, ...]

    @property
    def free(self) -> int:
        """Return how many of the matching devices could be had alone."""
        return sum(one.obstacle is None for one in self.matched)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintValues:
    """A constraint, and what is there to meet it.

    Shape: ``constraint`` as the claim writes it; ``needed`` devices at least; ``free`` devices that could
           be had alone, by value as text; ``without`` such devices that lack the attribute.
    """

    claim: ClaimRef
    constraint: str
    requests: tuple[str, ...]
    needed: int
    free: Mapping[str, int]
    without: int

    def __str__(self) -> str:
        values = ", ".join(f"{value}: {count}" for value, count in self.free.items()) or "none"
        text = f"{self.constraint} over {', '.join(self.requests)}: needs {self.needed} devices"
        lacking = f"; {self.without} free devices lack it" if self.without else ""
        return f"{text}; free devices by value: {values}{lacking}"


@dataclass(frozen=True, slots=True)
class RequestOf:
    """A request and the claim that it belongs to."""

    claim: ClaimRef
    request: str

    def __str__(self) -> str:
        return f"{self.claim} request {self.request}"


class Findings(Protocol):
    """What is looked up only when somebody asks, and then kept. See ``Unallocatable`` for the shapes."""

    @property
    def requests(self) -> tuple[Demand, ...]:
        """Return what every request matched, and what each match lacked."""
        ...

    @property
    def constraints(self) -> tuple[ConstraintValues, ...]:
        """Return what there is to meet each constraint."""
        ...

    @property
    def conflict(self) -> tuple[RequestOf, ...]:
        """Return requests that cannot hold together."""
        ...


@dataclass(frozen=True, slots=True)
class NoFindings:
    """What there is to say where nobody can look anything up."""

    requests: tuple[Demand, ...] = ()
    constraints: tuple[ConstraintValues, ...] = ()
    conflict: tuple[RequestOf, ...] = ()
