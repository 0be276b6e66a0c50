"""Claims, device classes and allocations. Source: resource.k8s.io/v1 ResourceClaim."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, NewType

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import Binding, DeviceId, QualifiedName
from scheduler_core.model.taints import Toleration

ClaimUid = NewType("ClaimUid", str)


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """The namespace and name of a claim."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """One alternative of a request: devices of one class that pass the same selectors.

    Shape: ``name`` is ``request`` or ``request/alternative``, as in allocation results; ``count`` is at least
           1, None for all matching devices of the node; ``selectors`` are CEL texts that must all be true;
           ``capacity`` has the least amounts, keys as written (a key without a domain belongs to the
           device's driver); ``derived`` are attributes that the constraints of the claim compare in place of
           a device's own, each with the CEL text that computes it (KEP-6080).
    """

    name: str
    class_name: str
    selectors: tuple[str, ...] = ()
    count: int | None = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    derived: tuple[tuple[QualifiedName, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. Shape: ``alternatives`` in order of preference; one, unless ``firstAvailable`` is used."""

    name: str
    alternatives: tuple[DeviceRequest, ...]


@dataclass(frozen=True, slots=True)
class MatchAttribute:
    """All devices of ``requests`` (empty: of the claim) have the same type and value of the attribute."""

    attribute: QualifiedName
    requests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DistinctAttribute:
    """All devices of ``requests`` (empty: of the claim) have different values of the attribute."""

    attribute: QualifiedName
    requests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SameScope:
    """The devices of each group of requests are in the same set of scopes as those of every other group.

    Shape: ``scopes`` are attributes, the finest first. The first one that every candidate has is compared,
           else the last one; a device without it is refused. ``groups`` are groups of requests; ``requests``
           limits them to some requests (empty: to all).
    Source: Koordinator, device-joint-allocate with requiredScope.
    """

    scopes: tuple[QualifiedName, ...]
    groups: tuple[tuple[str, ...], ...]
    requests: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        groups = [
            [name for name in group if not self.requests or name in self.requests] for group in self.groups
        ]
        object.__setattr__(self, "groups", tuple(tuple(group) for group in groups if group))
        object.__setattr__(self, "requests", tuple(name for group in groups for name in group))

    def group_of(self, request: str) -> int:
        """Return the number of the group that a request or alternative belongs to."""
        parent = request.partition("/")[0]
        return next(i for i, names in enumerate(self.groups) if request in names or parent in names)

    @property
    def attribute(self) -> QualifiedName:
        """Return the coarsest scope: messages name the constraint by it."""
        return self.scopes[-1]


@dataclass(frozen=True, slots=True)
class PreferScope:
    """The devices of ``requests`` (empty: of the claim) share the first of ``scopes`` that they can share.

    Shape: ``scopes`` are attributes, the most preferred first. It never makes a claim unallocatable.
    """

    scopes: tuple[QualifiedName, ...]
    requests: tuple[str, ...] = ()

    @property
    def attribute(self) -> QualifiedName:
        """Return the most preferred scope: messages name the constraint by it."""
        return self.scopes[0]


@dataclass(frozen=True, slots=True)
class ExclusiveScope:
    """No other claim has a rival device in the scopes of the devices of ``requests`` (empty: of the claim).

    It works in both directions: later claims get no rival in the scopes of a claim that holds devices under
    this constraint.
    Shape: ``scopes`` as in ``SameScope``; a rival is a device whose attribute ``kind`` is one of ``values``,
           or any device where ``kind`` is None.
    """

    scopes: tuple[QualifiedName, ...]
    requests: tuple[str, ...] = ()
    kind: QualifiedName | None = None
    values: tuple[str, ...] = ()

    @property
    def attribute(self) -> QualifiedName:
        """Return the coarsest scope: messages name the constraint by it."""
        return self.scopes[-1]


Constraint = MatchAttribute | DistinctAttribute | SameScope | PreferScope | ExclusiveScope


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueConfig:
    """Parameters for a driver. The allocator copies them into the allocation and does not read them.

    Shape: ``requests`` is empty for all requests; ``from_class`` is True for parameters of a DeviceClass.
    """

    driver: str
    parameters: Mapping[str, Any]
    requests: tuple[str, ...] = ()
    from_class: bool = False

    def concerns(self, request: str) -> bool:
        """Whether it is for a request or alternative, as allocation results name it."""
        return is_among(request, self.requests)


def is_among(request: str, names: Collection[str]) -> bool:
    """Whether names of requests include a request or alternative.

    No names mean all requests; the name of a request means all its alternatives.
    """
    return not names or request in names or request.partition("/")[0] in names


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A ResourceClaim: requests, and constraints over their devices."""

    ref: ClaimRef
    uid: ClaimUid | None = None
    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[OpaqueConfig, ...] = ()

    @property
    def least(self) -> int:
        """Return the fewest devices that the claim can get; a request for all may get one."""
        return sum(min(option.count or 1 for option in request.alternatives) for request in self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A DeviceClass: selectors and configuration under one name."""

    name: str
    selectors: tuple[str, ...] = ()
    configs: tuple[OpaqueConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One entry of ``status.allocation.devices.results``.

    Shape: ``share_id`` and ``consumed`` (keys as written) are set for shareable devices only;
           ``skipped_operations`` are the calls that the kubelet need not make for the device.
    """

    request: str
    device: DeviceId
    admin_access: bool = False
    share_id: str | None = None
    consumed: Mapping[str, Quantity] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    binding: Binding = field(default_factory=Binding)
    skipped_operations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedClaim:
    """An allocated claim: its devices and their configuration.

    Shape: ``results`` and ``configs`` of every driver in listed order, entries of classes first;
           ``exclusive`` are the constraints that keep other claims out of the scopes of its devices;
           ``pod_claim_name`` is how the pod calls a claim that was made from a template, else None.
    """

    ref: ClaimRef
    uid: ClaimUid | None = None
    results: tuple[AllocatedDevice, ...] = field(default=())
    configs: tuple[OpaqueConfig, ...] = ()
    exclusive: tuple[ExclusiveScope, ...] = ()
    pod_claim_name: str | None = None
