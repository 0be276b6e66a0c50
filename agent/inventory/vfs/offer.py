"""PURE: what of a NIC and its VFs is offered, and in which modes claims may have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scheduler_core.frontends.configuration.values import VfMode

_NO_MODE: Final[frozenset[VfMode]] = frozenset()


@dataclass(frozen=True, slots=True)
class NicOffer:
    """What of one NIC is offered.

    Shape: ``whole`` whether the NIC itself is, ``vfs`` whether its VFs are, without those of ``left_out``;
           ``modes`` in which claims may have them, None for all that they can be had in; ``modes_of_vfs`` by
           index, for VFs with modes of their own.
    """

    whole: bool = True
    vfs: bool = True
    left_out: frozenset[int] = frozenset()
    modes: frozenset[VfMode] | None = None
    modes_of_vfs: Mapping[int, frozenset[VfMode]] = field(default_factory=dict)

    @property
    def of_nic(self) -> frozenset[VfMode] | None:
        """Return the modes in which claims may have the NIC itself, None for all; none of all without it."""
        return self.modes if self.whole else _NO_MODE

    def of_vf(self, index: int) -> frozenset[VfMode] | None:
        """Return the modes in which claims may have a VF, None for all; none of all where it is left out."""
        is_offered = self.vfs and index not in self.left_out
        return self.modes_of_vfs.get(index, self.modes) if is_offered else _NO_MODE


ALL_OF_IT: Final = NicOffer()
"""The NIC, its VFs, in all modes."""
NOTHING: Final = NicOffer(whole=False, vfs=False)
