"""Details of a refusal: what each request matched, what was missing, and which requests conflict.

``scheduler_core.explain.refusal_details`` computes them, and ``Unallocatable`` gives access to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.model.funnel import Funnel
from scheduler_core.model.obstacles import Obstacle


@dataclass(frozen=True, slots=True)
class Considered:
    """A device that matches a request. Shape: ``obstacle`` is None where the device is free."""

    device: DeviceId
    obstacle: Obstacle | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many devices one alternative of a request needs, and which devices match it.

    Shape: ``matched`` in order of preference; ``needed`` is 0 where the request wants all matching devices
           and none matches.
    """

    claim: ClaimRef
    request: str
    needed: int
    matched: tuple[Considered, ...]

    @property
    def free(self) -> int:
        """Return how many of the matching devices are free."""
        return sum(one.obstacle is None for one in self.matched)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintValues:
    """A constraint, and how many free devices have each value of its attribute.

    Shape: ``constraint`` as the claim writes it; ``needed`` is the least number of devices under it;
           ``free`` counts free devices by value, as text; ``without`` counts those without the attribute.
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
        lacking = f"; {self.without} free devices do not have it" if self.without else ""
        return f"{text}; free devices by value: {values}{lacking}"


@dataclass(frozen=True, slots=True)
class RequestOf:
    """A request and its claim."""

    claim: ClaimRef
    request: str

    def __str__(self) -> str:
        return f"{self.claim} request {self.request}"


class Findings(Protocol):
    """Details that are computed at the first access and then kept. See ``Unallocatable`` for the shapes."""

    @property
    def requests(self) -> tuple[Demand, ...]:
        """Return what every request matched, and the obstacle of each match."""
        ...

    @property
    def constraints(self) -> tuple[ConstraintValues, ...]:
        """Return the free devices by value, per constraint."""
        ...

    @property
    def funnels(self) -> tuple[Funnel, ...]:
        """Return how many devices each thing leaves that a request asks."""
        ...

    @property
    def conflict(self) -> tuple[RequestOf, ...]:
        """Return requests that cannot be allocated together."""
        ...


@dataclass(frozen=True, slots=True)
class NoFindings:
    """The details of a refusal that has none."""

    requests: tuple[Demand, ...] = ()
    constraints: tuple[ConstraintValues, ...] = ()
    funnels: tuple[Funnel, ...] = ()
    conflict: tuple[RequestOf, ...] = ()
