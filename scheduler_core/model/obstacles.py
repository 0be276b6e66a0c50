"""Why a device cannot be allocated: one class per kind of obstacle, with the facts as fields.

``scheduler_core.model.sentences`` turns an obstacle into text. Nothing is computed here.
"""

from __future__ import annotations

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import Constraint
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName, SourceName
from scheduler_core.model.pool import PoolId
from scheduler_core.model.taints import Taint


@dataclass(frozen=True, slots=True)
class Held:
    """A device in use and its holder: a claim, or a request of the claims in question."""

    device: DeviceName
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """One dimension of one source that has too little left.

    Shape: ``source`` is the device itself where shares consume its capacity; ``left`` is never negative;
           ``holders`` are in pool order, and empty where the source is too small even when unused.
    Units: those of the dimension.
    """

    source: SourceName
    dimension: str
    needed: Quantity
    left: Quantity
    total: Quantity
    holders: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class UnknownDevice:
    """The pool has no device of this name."""

    pool: PoolId


@dataclass(frozen=True, slots=True)
class InvalidDevice:
    """The device breaks a rule of its slice."""

    reason: str


@dataclass(frozen=True, slots=True)
class InUse:
    """The device is allocated. Shape: one holder, or one per share of the device."""

    holders: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class PartsInUse:
    """Devices that are cut from this one are allocated. Shape: in pool order."""

    holders: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class ParentsInUse:
    """Devices that this one is cut from are allocated. Shape: in pool order."""

    holders: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class TooLittleLeft:
    """Sources of the device have too little left.

    Shape: ``missing`` is never empty; memory slices first, then in the order of the device's draws. ``whole``
           are the devices in use that alone take every memory slice of the first source.
    """

    missing: tuple[Missing, ...]
    whole: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True)
class SharesConsumed:
    """Shares leave too little of the device's own capacity. Shape: one entry per capacity, never empty."""

    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class NoCommonGroup:
    """The device has no compatibility group in common with the devices that use ``source``."""

    source: SourceName
    holders: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class ExpressionRefuses:
    """The ``compatibleOnlyWith`` expression of the device or of a device in use refuses the other one."""

    holders: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class TaintNotTolerated:
    """The request does not tolerate a taint of the device."""

    taint: Taint


@dataclass(frozen=True, slots=True)
class ScopeReserved:
    """Another claim has the device's scope for itself (``ExclusiveScope``)."""

    scope: QualifiedName
    value: AttributeValue
    by: str


@dataclass(frozen=True, slots=True)
class KubeletCannotSkip:
    """The device does without calls of the kubelet that are made anyway. Shape: ``why`` names the gate."""

    why: str


@dataclass(frozen=True, slots=True)
class SelectorFails:
    """A selector ends in an error on the device."""

    error: str


@dataclass(frozen=True, slots=True)
class ConstraintRefuses:
    """A constraint of the claim does not allow the device with the other devices of the claim."""

    constraint: Constraint


@dataclass(frozen=True, slots=True)
class OthersDoNotFit:
    """The device is free, but with it the other requests do not fit."""


LedgerObstacle = (
    UnknownDevice
    | InvalidDevice
    | InUse
    | PartsInUse
    | ParentsInUse
    | TooLittleLeft
    | SharesConsumed
    | NoCommonGroup
    | ExpressionRefuses
)
"""What the ledger of a pool finds: it depends on the devices in use only."""

RequestObstacle = TaintNotTolerated | ScopeReserved | KubeletCannotSkip
"""What keeps a device from one request, whatever is in use of its pool."""

Obstacle = LedgerObstacle | RequestObstacle | SelectorFails | ConstraintRefuses | OthersDoNotFit
