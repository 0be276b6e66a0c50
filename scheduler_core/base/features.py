"""The feature gates of the claim API, by upstream's names.

Where a gate is off, a request that needs it is refused, a device or slice that needs it is ignored, and a
field that belongs to it is not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Literal

from scheduler_core.base.quick_dataclass import dataclass

Groups = Literal["kep-4815", "kep-5963"]
"""What a device without compatibility groups is compatible with: with every device (KEP-4815, the first
proposal), or only with devices that have no groups either (KEP-5963, as in Kubernetes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The gates that are on. Shape: all of them by default."""

    DRAAdminAccess: bool = True
    DRAPrioritizedList: bool = True
    DRAPartitionableDevices: bool = True
    DRADeviceTaints: bool = True
    DRADeviceBindingConditions: bool = True
    DRAResourceClaimDeviceStatus: bool = True
    DRAConsumableCapacity: bool = True
    DRAListTypeAttributes: bool = True
    DRADeviceCompatibilityGroups: bool = True
    DRAFractionalCapacityRange: bool = True
    DRAOptionalNodeOperations: bool = True
    DRADerivedAttributes: bool = True
    groups: Groups = "kep-4815"

    @classmethod
    def only(cls, names: Iterable[str], groups: Groups = "kep-4815") -> Features:
        """Return the features with only these gates on.

        Raises: ValueError for a gate that the core does not know.
        """
        known = {one.name for one in fields(cls)} - {"groups"}
        wanted = set(names)
        if wanted - known:
            raise ValueError(f"unknown features {sorted(wanted - known)}; known: {sorted(known)}")
        return cls(groups=groups, **{name: name in wanted for name in known})

    @property
    def binding(self) -> bool:
        """Whether binding conditions count: they also need the gate for the claim's device status."""
        return self.DRADeviceBindingConditions and self.DRAResourceClaimDeviceStatus


ALL = Features()
