"""Claims, device classes and what they ask for. Source: resource.k8s.io/v1 ResourceClaim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NewType

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import Binding, DeviceId, QualifiedName
from scheduler_core.model.taints import Toleration

ClaimUid = NewType("ClaimUid", str)


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """How people and logs name a claim."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """Devices of one kind.

    Shape: ``name`` is ``request`` or ``request/alternative``, as results name it; ``count`` at least 1,
           None for all matching devices of the node; ``selectors`` CEL texts, all must be true;
           ``capacity`` the least amounts wanted, keys as written (bare ones are the device's driver's).
    """

    name: str
    class_name: str
    selectors: tuple[str, ...] = ()
    count: int | None = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Quantity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: its alternatives in order of preference (one, unless ``firstAvailable``)."""

    name: str
    alternatives: tuple[DeviceRequest, ...]


@dataclass(frozen=True, slots=True)
class MatchAttribute:
    """All devices of ``requests`` (empty: of the claim) have one type and value of the attribute."""

    attribute: QualifiedName
    requests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DistinctAttribute:
    """All devices of ``requests`` (empty: of the claim) differ pairwise in the attribute."""

    attribute: QualifiedName
    requests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SameScope:
    """The devices of each group of requests stand in the same set of scopes as those of every other.

    Shape: ``scopes`` are attributes, the finest first: compared is the first that every candidate has,
           else the last; a device without it never joins. ``groups`` are groups of requests; ``requests``
           narrows them to some (empty: all of them).
    Source: Koordinator, device-joint-allocate with requiredScope.
    """

    scopes: tuple[QualifiedName, ...]
    groups: tuple[tuple[str, ...], ...]
    requests: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kept = [
            [name for name in group if not self.requests or name in self.requests] for group in self.groups
        ]
        object.__setattr__(self, "groups", tuple(tuple(group) for group in kept if group))
        object.__setattr__(self, "requests", tuple(name for group in kept for name in group))

    @property
    def attribute(self) -> QualifiedName:
        """Return the coarsest scope, which stands for the constraint in messages."""
        return self.scopes[-1]


@dataclass(frozen=True, slots=True)
class PreferScope:
    """The devices of ``requests`` (empty: of the claim) share the first of ``scopes`` that they can share.

    Shape: ``scopes`` are attributes, the most wanted first. It never makes a claim unallocatable.
    """

    scopes: tuple[QualifiedName, ...]
    requests: tuple[str, ...] = ()

    @property
    def attribute(self) -> QualifiedName:
        """Return the most wanted scope, which stands for the constraint in messages."""
        return self.scopes[0]


@dataclass(frozen=True, slots=True)
class ExclusiveScope:
    """In the scopes of the devices of ``requests`` (empty: of the claim) no other claim has a rival.

    It binds both ways: a claim that holds devices under it keeps later claims out of their scopes.
    Shape: ``scopes`` as in ``SameScope``; rivals are devices whose attribute ``kind`` is one of ``values``,
           any device where ``kind`` is None.
    """

    scopes: tuple[QualifiedName, ...]
    requests: tuple[str, ...] = ()
    kind: QualifiedName | None = None
    values: tuple[str, ...] = ()

    @property
    def attribute(self) -> QualifiedName:
        """Return the coarsest scope, which stands for the constraint in messages."""
        return self.scopes[-1]


Constraint = MatchAttribute | DistinctAttribute | SameScope | PreferScope | ExclusiveScope


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueConfig:
    """Parameters for a driver. The allocator only carries them along.

    Shape: ``requests`` empty for all; ``from_class`` tells a class's parameters from a claim's.
    """

    driver: str
    parameters: Mapping[str, Any]
    requests: tuple[str, ...] = ()
    from_class: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a user asks for."""

    ref: ClaimRef
    uid: ClaimUid | None = None
    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[OpaqueConfig, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A named kind of device."""

    name: str
    selectors: tuple[str, ...] = ()
    configs: tuple[OpaqueConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One entry of ``status.allocation.devices.results``.

    Shape: ``share_id`` and ``consumed`` (keys as written) only for a device that serves many claims.
    """

    request: str
    device: DeviceId
    admin_access: bool = False
    share_id: str | None = None
    consumed: Mapping[str, Quantity] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    binding: Binding = field(default_factory=Binding)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedClaim:
    """A claim with devices, as the node and the ledger read it back.

    Shape: ``results`` of every driver, in listed order; ``configs`` likewise, class entries first;
           ``exclusive`` what keeps others out of the scopes of its devices.
    """

    ref: ClaimRef
    uid: ClaimUid | None = None
    results: tuple[AllocatedDevice, ...] = field(default=())
    configs: tuple[OpaqueConfig, ...] = ()
    exclusive: tuple[ExclusiveScope, ...] = ()
