"""PURE: attributes that an operator gives to devices of a node, under a domain of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agent.hardware.types import Bdf, GpuUuid
from scheduler_core.model.device import AttributeValue, QualifiedName

_Attributes = Mapping[QualifiedName, AttributeValue]
_NONE: Final[_Attributes] = {}


@dataclass(frozen=True, slots=True)
class OperatorAttributes:
    """The attributes by what they are about: a GPU with all that is cut from it, a NIC with its VFs, a VF."""

    gpus: Mapping[GpuUuid, _Attributes] = field(default_factory=dict)
    nics: Mapping[Bdf, _Attributes] = field(default_factory=dict)
    vfs: Mapping[tuple[Bdf, int], _Attributes] = field(default_factory=dict)

    def of_gpu(self, uuid: GpuUuid) -> _Attributes:
        """Return those of a GPU."""
        return self.gpus.get(uuid, _NONE)

    def of_nic(self, bdf: Bdf) -> _Attributes:
        """Return those of a NIC, which its VFs have, too."""
        return self.nics.get(bdf, _NONE)

    def of_vf(self, bdf: Bdf, index: int) -> _Attributes:
        """Return those of one VF, by the address of its NIC; they count before the NIC's."""
        return self.vfs.get((bdf, index), _NONE)


NO_ATTRIBUTES: Final = OperatorAttributes()
