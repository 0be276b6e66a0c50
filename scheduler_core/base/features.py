"""Switches of the claim API, by the names of upstream's feature gates.

A switch that is off behaves as the gate does: a request that needs it is refused, a device that needs it
is left out, a mark that it would read is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

Groups = Literal["kep-4815", "kep-5963"]
"""What a device without compatibility groups means: compatible with all (the first proposal), or only
with devices that have none either (what Kubernetes ships)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What is switched on. Shape: everything, unless said otherwise."""

    DRAAdminAccess: bool = True
    DRAPrioritizedList: bool = True
    DRAPartitionableDevices: bool = True
    DRADeviceTaints: bool = True
    DRADeviceBindingConditions: bool = True
    DRAResourceClaimDeviceStatus: bool = True
    DRAConsumableCapacity: bool = True
    DRAListTypeAttributes: bool = True
    DRADeviceCompatibilityGroups: bool = True
    groups: Groups = "kep-4815"

    @classmethod
    def only(cls, names: Iterable[str], groups: Groups = "kep-4815") -> Features:
        """Return a value with just these gates on.

        Raises: ValueError for a name that is no gate of this core.
        """
        known = {one.name for one in fields(cls)} - {"groups"}
        wanted = set(names)
        if wanted - known:
            raise ValueError(f"unknown features {sorted(wanted - known)}; known: {sorted(known)}")
        return cls(groups=groups, **{name: name in wanted for name in known})

    @property
    def binding(self) -> bool:
        """Whether binding conditions work: they need the claim's device status too."""
        return self.DRADeviceBindingConditions and self.DRAResourceClaimDeviceStatus


ALL = Features()
