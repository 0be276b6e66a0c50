"""The answer to an allocation: the devices, or the reasons why the claims do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, Constraint, OpaqueConfig
from scheduler_core.model.funnel import Funnel
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.refusal import ConstraintValues, Demand, Findings, NoFindings, RequestOf


class Cause(StrEnum):
    """Why claims do not fit, in order of precedence."""

    TOO_MANY_DEVICES = "TooManyDevices"
    POOL_INCOMPLETE = "PoolIncomplete"
    POOL_INVALID = "PoolInvalid"
    NO_MATCHING_DEVICE = "NoMatchingDevice"
    DEVICE_INVALID = "DeviceInvalid"
    CONSTRAINT_UNSATISFIED = "ConstraintUnsatisfied"
    INCOMPATIBLE = "Incompatible"
    INSUFFICIENT = "Insufficient"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one request gets no devices.

    Shape: ``detail`` is a sentence that names devices, dimensions and holders; ``constraint`` is the one
           that cannot be met, None where no constraint is the cause.
    """

    claim: ClaimRef
    request: str
    cause: Cause
    detail: str
    constraint: Constraint | None = None

    def __str__(self) -> str:
        return f"{self.claim} request {self.request}: {self.detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Devices for every claim, on one node.

    Shape: ``results`` has an entry per claim, its devices in request order; ``nodes`` has the nodes from
           which the devices of each claim can be used; ``configs`` has their configuration, entries of
           classes first.
    """

    node: str
    results: Mapping[ClaimRef, tuple[AllocatedDevice, ...]]
    nodes: Mapping[ClaimRef, NodeSelection]
    configs: Mapping[ClaimRef, tuple[OpaqueConfig, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unallocatable:
    """The claims do not fit on the node, and why.

    Shape: ``reasons`` is never empty; its first entry has the decisive cause. ``findings`` are computed for
           the state that was refused, at the first access to ``requests``, ``constraints``, ``funnels`` or
           ``conflict``. Two refusals are equal if their node and reasons are.
    """

    node: str
    reasons: tuple[Reason, ...]
    findings: Findings = field(default=NoFindings(), repr=False, compare=False)

    @property
    def cause(self) -> Cause:
        """Return the decisive cause."""
        return self.reasons[0].cause

    @property
    def requests(self) -> tuple[Demand, ...]:
        """Return what every request matches by itself, and the obstacle of each match.

        Shape: in the order of the claims, an entry per alternative; devices in order of preference.
        """
        return self.findings.requests

    @property
    def constraints(self) -> tuple[ConstraintValues, ...]:
        """Return the free devices by value, per constraint. Shape: in the order of the claims."""
        return self.findings.constraints

    @property
    def funnels(self) -> tuple[Funnel, ...]:
        """Return, per request by itself, how many devices are left after each thing that it asks.

        Shape: in the order of the claims, an entry per alternative.
        """
        return self.findings.funnels

    @property
    def conflict(self) -> tuple[RequestOf, ...]:
        """Return the smallest set of requests that cannot be allocated together.

        Shape: in the order of the claims; empty only where there are no details. See
               ``scheduler_core.search.smallest_conflict`` for how far a smaller set is searched.
        """
        return self.findings.conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """Neither an allocation nor a proof that there is none: the search reached its bound.

    Shape: ``steps`` the number of steps that were allowed, see ``scheduler_core.base.effort``; ``why`` which
           search gave up, as a sentence.
    """

    node: str
    steps: int
    why: str

    def __str__(self) -> str:
        return f"undecided on {self.node} after {self.steps:,} steps: {self.why}"


Answer = Allocation | Unallocatable | Undecided
"""What one question about one node is answered by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeasibleNodes:
    """On which nodes claims fit. Shape: ``names`` in the order asked; on all others they do not fit, but for
    those of ``undecided``.
    """

    names: tuple[str, ...]
    undecided: tuple[Undecided, ...] = ()
