"""In which modes each GPU of a node is offered: whole, cut by MIG, and shared in two ways.

Values only. Who writes such a policy down (an option, a file) builds these values; the description of the
node reads them. The modes are those of the first form of KEP-5963.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

from agent.hardware.types import Placement

ALL_OF_IT: Final = 100
"""The percentage of a mode that uses its GPU alone."""
ATTRIBUTE: Final = "partitioningMode"
"""The attribute that says the mode of a device, where its GPU is offered in several."""


class GpuMode(StrEnum):
    """A way to use a GPU, as the attribute says it."""

    WHOLE = "None"
    MIG = "MIGSlicing"
    SHARED = "GPUFractioning"
    MPS = "MPSSharing"


@dataclass(frozen=True, slots=True, order=True)
class MigPlace:
    """One partition of a MIG layout: the name of its profile, and where it lies. Units: memory slices."""

    profile: str
    placement: Placement


@dataclass(frozen=True, slots=True)
class ModesOfGpu:
    """The modes in which one GPU is offered.

    Shape: ``shared`` and ``mps`` are None where the GPU is not shared so; ``keeps_mig`` whether MIG mode is
           set once and stays, which leaves room for no other mode; ``profiles`` those in which it is cut by
           MIG, None for all that it has; ``layout`` the only partitions that are cut from it, None for any.
           Without any mode the GPU is excluded.
    Units: ``shared``, ``mps`` percent of the GPU's memory and multiprocessors that the claims of this mode
           have together. With 100 the mode uses the GPU alone, with less both may use it at once.
    """

    whole: bool = True
    mig: bool = True
    shared: int | None = None
    mps: int | None = None
    keeps_mig: bool = False
    profiles: frozenset[str] | None = None
    layout: frozenset[MigPlace] | None = None

    def __post_init__(self) -> None:
        is_alone = (self.whole, self.mig, self.shared, self.mps) == (False, True, None, None)
        assert is_alone or not self.keeps_mig, "a GPU that stays in MIG mode has no other mode"

    @property
    def words(self) -> str:
        """Return the modes as the option writes them, without parts."""
        mig = "mig:on" if self.keeps_mig else "mig"
        has = {
            "whole": self.whole,
            mig: self.mig,
            "shared": self.shared is not None,
            "mps": self.mps is not None,
        }
        return ",".join(word for word, is_there in has.items() if is_there)

    @property
    def is_none(self) -> bool:
        """Whether the GPU is offered in no mode at all."""
        return (self.whole, self.mig, self.shared, self.mps) == (False, False, None, None)

    def offers(self, profile: str, placement: Placement) -> bool:
        """Whether the partition of a MIG profile at a place is offered."""
        has_profile = self.profiles is None or profile in self.profiles
        has_place = self.layout is None or MigPlace(profile, placement) in self.layout
        return self.mig and has_profile and has_place

    @property
    def is_side_by_side(self) -> bool:
        """Whether two modes may use the GPU at once, each a part of it."""
        if self.shared is None or self.mps is None:
            return False
        return self.shared + self.mps <= ALL_OF_IT

    @property
    def is_told(self) -> bool:
        """Whether devices say their mode: claims share the GPU, and can also have it otherwise."""
        shared = [self.shared is not None, self.mps is not None]
        return any(shared) and sum([self.whole, self.mig, *shared]) > 1

    @property
    def unshared(self) -> Self:
        """Return the modes without those in which claims share the GPU."""
        return replace(self, shared=None, mps=None)


@dataclass(frozen=True, slots=True)
class GpuModes:
    """The modes of all GPUs of a node. Shape: ``by_number`` the GPUs with modes of their own."""

    others: ModesOfGpu = field(default_factory=ModesOfGpu)
    by_number: Mapping[int, ModesOfGpu] = field(default_factory=dict)

    def of(self, number: int) -> ModesOfGpu:
        """Return the modes of the GPU of a number: ``gpu-3`` has 3."""
        return self.by_number.get(number, self.others)

    @property
    def unshared(self) -> Self:
        """Return the modes without those in which claims share a GPU."""
        by_number = {number: modes.unshared for number, modes in self.by_number.items()}
        return replace(self, others=self.others.unshared, by_number=by_number)
