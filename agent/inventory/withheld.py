"""PURE: devices that exist and are not offered, and why: what agent, plugin and commands tell of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from scheduler_core.model.device import DeviceName


class Cause(StrEnum):
    """The class of a reason: the metrics count by it."""

    NO_RDMA = "no-rdma"
    NO_GUID = "no-guid"
    NO_INTERFACE = "no-interface"
    DEFAULT_ROUTE = "default-route"
    NO_IOMMU = "no-iommu"
    SHARED_IOMMU_GROUP = "shared-iommu-group"
    NO_VFIO_DRIVER = "no-vfio-driver"
    MIG_MODE = "mig-mode"
    NO_WHOLE_GPU = "no-whole-gpu"
    NO_MIG_PROFILE = "no-mig-profile"
    NO_MEMORY_FIGURE = "no-memory-figure"
    NO_FABRIC_PARTITION = "no-fabric-partition"
    FABRIC_MANAGER = "fabric-manager"
    UNREADABLE = "unreadable"
    POOL_OF_NODES = "pool-of-nodes"
    NO_DRIVER = "no-driver"
    VFIO_DRIVER = "vfio-driver"
    OTHER_DRIVER = "other-driver"
    DEAD = "dead"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a device cannot be prepared.

    Shape: ``text`` is a clause about the device, ``it has no IOMMU group``; ``remedy`` says who acts.
    """

    cause: Cause
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Withheld:
    """A device that is not offered. Shape: ``kind`` is the ``type`` that it would be published with."""

    device: DeviceName
    kind: str
    reason: Reason

    def __str__(self) -> str:
        return f"{self.device}: {self.reason}"


@dataclass(frozen=True, slots=True)
class WithheldAlike:
    """Devices of one kind that are withheld for one reason. Shape: at least one device."""

    kind: str
    reason: Reason
    devices: tuple[DeviceName, ...]

    def __str__(self) -> str:
        first, *others = self.devices
        return f"{first}{f' and {len(others)} more' if others else ''}: {self.reason}"


def alike(found: Iterable[Withheld]) -> tuple[WithheldAlike, ...]:
    """Group withheld devices by kind and reason, in the order of the first of each group."""
    groups: dict[tuple[str, Reason], list[DeviceName]] = {}
    for one in found:
        groups.setdefault((one.kind, one.reason), []).append(one.device)
    return tuple(WithheldAlike(kind, reason, tuple(names)) for (kind, reason), names in groups.items())
