"""What an allocation answers: devices, or why not. Both are values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scheduler_core.model.claim import AllocatedDevice, ClaimRef, Constraint, OpaqueConfig
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
    """Why one request got nothing.

    Shape: ``detail`` is a sentence that names devices, dimensions and holders; ``constraint`` the one that
           refused, None where none did.
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

    Shape: ``results`` has an entry per claim, its devices in request order; ``nodes`` says from where
           the devices of each claim can be used; ``configs`` what travels with them, class entries first.
    """

    node: str
    results: Mapping[ClaimRef, tuple[AllocatedDevice, ...]]
    nodes: Mapping[ClaimRef, NodeSelection]
    configs: Mapping[ClaimRef, tuple[OpaqueConfig, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unallocatable:
    """The claims do not fit on the node, and why.

    Shape: ``reasons`` is never empty; its first entry has the cause that decides. ``findings`` is looked
           up, in the state that was refused, when ``requests``, ``constraints`` or ``conflict`` is first
           read; a refusal that nobody reads further costs nothing more. Two refusals are equal by node and
           reasons.
    """

    node: str
    reasons: tuple[Reason, ...]
    findings: Findings = field(default=NoFindings(), repr=False, compare=False)

    @property
    def cause(self) -> Cause:
        """Return the cause that decides."""
        return self.reasons[0].cause

    @property
    def requests(self) -> tuple[Demand, ...]:
        """Return what every request matched, each by itself, and what each match lacked.

        Shape: in the order of the claims, an entry per alternative; devices in order of preference, with
               the kind of obstacle, the amounts missing and who holds them.
        """
        return self.findings.requests

    @property
    def constraints(self) -> tuple[ConstraintValues, ...]:
        """Return what there is to meet each constraint. Shape: in the order of the claims."""
        return self.findings.constraints

    @property
    def conflict(self) -> tuple[RequestOf, ...]:
        """Return the smallest set of requests that cannot hold together: any one of them less could.

        Shape: in the order of the claims, never empty but where nothing was looked up. See
               ``scheduler_core.search.smallest_conflict`` for how far "smallest" is searched.
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
