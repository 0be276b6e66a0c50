"""What an allocation answers: devices, or why not. Both are values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scheduler_core.model.claim import AllocatedDevice, ClaimRef, OpaqueConfig
from scheduler_core.model.nodes import NodeSelection


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

    Shape: ``detail`` is a sentence that names devices, dimensions and holders.
    """

    claim: ClaimRef
    request: str
    cause: Cause
    detail: str

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

    Shape: ``reasons`` is never empty; its first entry has the cause that decides.
    """

    node: str
    reasons: tuple[Reason, ...]

    @property
    def cause(self) -> Cause:
        """Return the cause that decides."""
        return self.reasons[0].cause
