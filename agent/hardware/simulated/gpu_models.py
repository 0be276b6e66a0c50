"""GPU products: reads the data files in ``models/`` into typed values.

Takes a file; returns a ``GpuModel``. Nothing is estimated: a profile with an unknown figure is missing and
named in ``left_out``. See models/PROVENANCE.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from agent.hardware.compute_profiles import narrower_profiles
from agent.hardware.types import MIB, MigProfile, Placement

FOLDER: Final = resources.files("agent.hardware.simulated") / "models"
_NOT_A_GPU: Final = "pci-ids"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOverride:
    """What a machine's own driver reports instead of a model's figures. Units: MiB."""

    total_mib: int | None = None
    profiles_mib: Mapping[str, int] = field(default_factory=dict)
    multiprocessors: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """One GPU product.

    Shape: ``memory_bytes`` is None where no source has it, or, without ``has_memory``, since the GPU uses the
           node's memory and its driver reports none; ``engines`` what all instances of a GPU share,
           by the field of ``MigProfile`` that takes of it, without the unknown ones; ``profiles`` by name;
           ``left_out`` the profiles with unknown figures, each a sentence; ``nvlinks`` how many it has, 0
           also where no source says it; ``multiprocessors`` of the hardware, None where no source says it.
           ``subsystem`` is vendor and device, None where unknown.
    """

    name: str
    product_name: str
    architecture: str
    brand: str | None
    cuda_compute_capability: str
    memory_bytes: int | None
    memory_slices: int
    is_mig_capable: bool
    changes_mode_by_reset: bool
    pci_device_id: str
    pci_vendor_id: str
    subsystem: tuple[str, str] | None
    engines: Mapping[str, int]
    profiles: tuple[MigProfile, ...]
    left_out: tuple[str, ...]
    nvlinks: int = 0
    multiprocessors: int | None = None
    has_memory: bool = True

    def profile(self, profile_id: int) -> MigProfile | None:
        """Return the profile with this id, None where the model lacks it."""
        return next((profile for profile in self.profiles if profile.profile_id == profile_id), None)


@cache
def gpu_models() -> tuple[str, ...]:
    """Return the names of all GPU models, sorted."""
    names = (file.name.removesuffix(".json") for file in FOLDER.iterdir() if file.name.endswith(".json"))
    return tuple(sorted(name for name in names if name != _NOT_A_GPU))


def profile_names(name: str) -> tuple[str, ...]:
    """Return the names of all profiles of a model, also of those with unknown figures."""
    return tuple(sorted(row.name for row in _read(name).gpu_instance_profiles))


def load_model(name: str, override: MemoryOverride | None = None) -> GpuModel:
    """Return one GPU model. Raises: KeyError where there is none of this name."""
    file = _read(name)
    override = override or MemoryOverride()
    total_mib = override.total_mib or file.memory_mib
    rows = [_with_memory(row, override.profiles_mib) for row in file.gpu_instance_profiles]
    known = [row for row in rows if not row.unknown]
    return GpuModel(
        name=name,
        product_name=file.product_name,
        architecture=file.architecture,
        brand=file.brand,
        cuda_compute_capability=file.cuda_compute_capability,
        memory_bytes=total_mib * MIB if total_mib else None,
        memory_slices=file.memory_slices,
        is_mig_capable=file.mig_capable,
        changes_mode_by_reset=bool(file.mig_mode_needs_gpu_reset),
        pci_device_id=_unpacked(file.pci_device_id)[1],
        pci_vendor_id=_unpacked(file.pci_device_id)[0],
        subsystem=_unpacked(file.pci_subsystem_ids[0]) if file.pci_subsystem_ids else None,
        engines=file.engines.known(),
        profiles=tuple(sorted((row.profile(file, rows) for row in known), key=lambda profile: profile.name)),
        left_out=tuple(
            f"MIG profile {row.name} of model {name}: no source has its {', '.join(row.unknown)}"
            for row in rows
            if row.unknown
        ),
        nvlinks=file.nvlinks,
        multiprocessors=override.multiprocessors or file.max_sm,
        has_memory=file.has_memory,
    )


class _Engines(msgspec.Struct, frozen=True):
    copy: int | None
    decoder: int | None
    encoder: int | None
    jpeg: int | None
    ofa: int | None

    def known(self) -> Mapping[str, int]:
        """Return the known limits under the names that profiles use."""
        limits = {
            "copy_engines": self.copy,
            "decoders": self.decoder,
            "encoders": self.encoder,
            "jpeg_engines": self.jpeg,
            "ofa_engines": self.ofa,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}


class _Place(msgspec.Struct, frozen=True):
    start: int
    size: int


class _Row(msgspec.Struct, frozen=True):
    name: str
    profile_id: int
    slice_count: int
    max_instances: int
    placements: tuple[_Place, ...]
    memory_mib: int | None
    multiprocessors: int | None
    copy_engines: int | None
    decoders: int | None
    encoders: int | None
    jpeg: int | None
    ofa: int | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the figures that no source has, by field."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is None)

    def profile(self, file: _File, rows: Sequence[_Row]) -> MigProfile:
        """Return the row as the ports want it; it must have no unknown figure."""
        narrower = narrower_profiles(
            self.slice_count,
            _known(self.multiprocessors),
            architecture=file.architecture,
            most_compute_slices=max(row.slice_count for row in rows),
        )
        places = (Placement(place.start, place.size) for place in self.placements)
        return MigProfile(
            name=self.name,
            profile_id=self.profile_id,
            compute_slices=self.slice_count,
            memory_bytes=_known(self.memory_mib) * MIB,
            multiprocessors=_known(self.multiprocessors),
            copy_engines=_known(self.copy_engines),
            decoders=_known(self.decoders),
            encoders=_known(self.encoders),
            jpeg_engines=_known(self.jpeg),
            ofa_engines=_known(self.ofa),
            max_instances=self.max_instances,
            placements=tuple(sorted(places)),
            narrower=narrower,
        )


class _File(msgspec.Struct, frozen=True):
    product_name: str
    architecture: str
    cuda_compute_capability: str
    brand: str | None
    memory_mib: int | None
    memory_slices: int
    pci_device_id: str
    mig_capable: bool
    mig_mode_needs_gpu_reset: bool | None
    engines: _Engines
    gpu_instance_profiles: tuple[_Row, ...]
    max_sm: int | None
    pci_subsystem_ids: tuple[str, ...] = ()
    nvlinks: int = 0
    has_memory: bool = True


_FILES: Final = msgspec.json.Decoder(_File)


@cache
def _read(name: str) -> _File:
    if name not in gpu_models():
        raise KeyError(name)
    return _FILES.decode((FOLDER / f"{name}.json").read_bytes())


def _with_memory(row: _Row, profiles_mib: Mapping[str, int]) -> _Row:
    return msgspec.structs.replace(row, memory_mib=profiles_mib.get(row.name, row.memory_mib))


def _known(figure: int | None) -> int:
    assert figure is not None
    return figure


def _unpacked(packed: str) -> tuple[str, str]:
    """Split NVML's packed id, device in the high half, into vendor and device."""
    digits = packed.lower().removeprefix("0x").zfill(8)
    return digits[4:], digits[:4]
