"""What there is to say about claims that do not fit: values that carry the amounts, holders and names.

Found by ``scheduler_core.explain.refusal_details``, reached from ``Unallocatable``. Nothing here is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.model.obstacles import Obstacle


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
