"""The parts of a machine as plain values.

The adapters make these values, all other code reads them. A ``MigSpec`` is wanted, a ``MigInstance`` exists.
The driver reuses ids of instances; it never reuses UUIDs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Final, NewType

Bdf = NewType("Bdf", str)
"""``DDDD:BB:DD.F``, lower case; the domain has four digits or more."""
GpuUuid = NewType("GpuUuid", str)
MigUuid = NewType("MigUuid", str)

MIB: Final = 2**20
_BDF: Final = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")


def normal_bdf(text: str) -> Bdf:
    """Return the sysfs spelling of a PCI address; NVML writes an eight-digit upper-case domain.

    Raises: ValueError if ``text`` is no PCI address.
    """
    match = _BDF.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not a PCI address such as 0000:3b:00.0")
    domain, bus, device, function = match.groups()
    return Bdf(f"{int(domain, 16):04x}:{bus}:{device}.{function}")


@dataclass(frozen=True, slots=True)
class DriverVersions:
    """The driver of the node: ``driver`` such as 560.35.03, ``cuda`` such as 12.6."""

    driver: str
    cuda: str


@dataclass(frozen=True, slots=True)
class MigMode:
    """The MIG mode now, and after the next reset of the GPU."""

    current: bool
    pending: bool

    @property
    def is_settled(self) -> bool:
        """Whether no change of the mode is pending."""
        return self.current == self.pending


class ModeChange(StrEnum):
    """The result of a successful call that sets the MIG mode."""

    ACTIVE = "active"
    PENDING_IN_USE = "pending: the GPU is in use"
    PENDING_RESET = "pending: the GPU must be reset from outside"


class TimeSlice(IntEnum):
    """How long a program runs on a GPU before the next one may, as nvidia-smi numbers it."""

    DEFAULT = 0
    SHORT = 1
    MEDIUM = 2
    LONG = 3


class ComputeMode(StrEnum):
    """Which programs may compute on a GPU at once. Source: nvml.h, nvmlComputeMode_t."""

    DEFAULT = "Default"
    EXCLUSIVE_THREAD = "Exclusive_Thread"
    PROHIBITED = "Prohibited"
    EXCLUSIVE_PROCESS = "Exclusive_Process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU as the driver reports it.

    Shape: ``mig`` is None on a model without MIG; ``brand`` is None if unknown; ``module_id`` is the GPU's
           place on its baseboard, None if it has none.
    Shape: ``multiprocessors`` of the hardware, more than its MIG partitions have together on some models;
           None if the driver does not report them.
    Units: ``memory_bytes`` bytes, None for a GPU that has no memory of its own, as integrated ones.
    """

    uuid: GpuUuid
    index: int
    minor: int
    bdf: Bdf
    product_name: str
    architecture: str
    brand: str | None
    cuda_compute_capability: str
    memory_bytes: int | None
    mig: MigMode | None
    is_passthrough: bool = False
    module_id: int | None = None
    multiprocessors: int | None = None

    @property
    def resets_for_mode(self) -> bool:
        """Whether a change of the MIG mode resets the GPU. Source: NVIDIA MIG User Guide, "Enable MIG Mode".

        The board then keeps the mode over boots, too; later models lose it with the driver.
        """
        return self.architecture == "Ampere"

    @property
    def mode_needs_operator(self) -> bool:
        """Whether a change of the MIG mode stays pending until somebody resets the GPU from outside.

        A virtual machine cannot reset a GPU passed through to it.
        """
        return self.resets_for_mode and self.is_passthrough


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """A place on a GPU or in a GPU instance.

    Units: memory slices for a GPU instance, whose ``size`` is not its number of compute slices; compute
           slices for a compute instance.
    """

    start: int
    size: int

    def overlaps(self, other: Placement) -> bool:
        """Whether two places of one GPU, or of one GPU instance, have a slice in common."""
        return self.start < other.start + other.size and other.start < self.start + self.size


@dataclass(frozen=True, slots=True)
class ComputeProfile:
    """A compute-instance profile that is narrower than its GPU instance.

    Shape: ``starts`` all possible places, free or not; ``multiprocessors`` None where no source has it.
    Units: ``width`` and ``starts`` compute slices.
    """

    width: int
    starts: tuple[int, ...]
    multiprocessors: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigProfile:
    """One GPU-instance profile of one GPU.

    Shape: ``placements`` are all possible places, free or not, by start; ``profile_id`` is the id for
           create, list and placement calls, not the NVML constant; ``narrower`` by width.
    Units: ``memory_bytes`` bytes (NVML's field says MB but counts MiB); the rest are counts.
    """

    name: str
    profile_id: int
    compute_slices: int
    memory_bytes: int
    multiprocessors: int
    copy_engines: int
    decoders: int
    encoders: int
    jpeg_engines: int
    ofa_engines: int
    max_instances: int
    placements: tuple[Placement, ...]
    narrower: tuple[ComputeProfile, ...] = ()

    @property
    def has_graphics(self) -> bool:
        """Whether its instances can draw. Source: NVIDIA MIG User Guide, profiles with ``+gfx``."""
        return self.name.endswith("+gfx")


@dataclass(frozen=True, slots=True)
class MigSpec:
    """A wanted MIG partition: one GPU instance that one compute instance fills."""

    parent: GpuUuid
    profile_id: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class ComputeSpec:
    """A wanted CI that is narrower than its GI. Units: ``place`` compute slices of the GI."""

    partition: MigSpec
    place: Placement


@dataclass(frozen=True, slots=True)
class ComputeInstance:
    """An existing CI and the UUID of its MIG device.

    Shape: ``place`` None for a CI that fills its GI. Units: ``place`` compute slices of the GI.
    """

    ci_id: int
    uuid: MigUuid
    place: Placement | None = None


@dataclass(frozen=True, slots=True)
class GpuInstance:
    """An existing GI with its CIs, by id; without a CI there is no MIG device."""

    parent: GpuUuid
    gi_id: int
    profile_id: int
    placement: Placement
    compute_instances: tuple[ComputeInstance, ...] = ()

    @property
    def spec(self) -> MigSpec:
        """Return the wanted partition that this instance matches."""
        return MigSpec(self.parent, self.profile_id, self.placement)


@dataclass(frozen=True, slots=True)
class MigInstance:
    """An existing MIG partition, complete: GI, CI and the UUID of its MIG device."""

    spec: MigSpec
    gi_id: int
    ci_id: int
    uuid: MigUuid


@dataclass(frozen=True, slots=True)
class PciePath:
    """The place of a PCI function in the PCIe tree, from the root down.

    Shape: ``root_complex`` such as ``pci0000:3a``; ``root_port`` is None if there is none or it is unknown;
           ``switches`` are the upstream ports of the switches above the function, from the root port down to
           the nearest one.
    """

    root_complex: str | None = None
    root_port: Bdf | None = None
    switches: tuple[Bdf, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFunction:
    """One PCI function.

    Shape: ids are four hex digits; ``numa_node`` None if the kernel says -1; ``stated`` names what of its
           place an operator says instead of the kernel, as the attributes are called.
    """

    bdf: Bdf
    vendor_id: str
    device_id: str
    class_code: str
    numa_node: int | None = None
    path: PciePath = PciePath()
    driver: str | None = None
    stated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualFunction:
    """A VF. ``index`` is the number of its ``virtfn`` link; names are those seen when it was read.

    Shape: ``has_guid`` is false for an InfiniBand VF of which its RDMA device says that it has none.
    """

    index: int
    function: PciFunction
    netdev: str | None = None
    rdma_device: str | None = None
    has_guid: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalFunction:
    """A NIC function that is no VF.

    Shape: ``vfs`` by index; ``total_vfs`` is 0 without SR-IOV;
           ``link_type`` is ``ethernet``, ``infiniband`` or None; ``card_id`` groups ports of one card.
    Units: ``link_speed_mbps`` millions of bits per second, None while the link is down.
    """

    function: PciFunction
    netdev: str | None = None
    rdma_device: str | None = None
    link_type: str | None = None
    link_speed_mbps: int | None = None
    card_id: str | None = None
    total_vfs: int = 0
    vfs: tuple[VirtualFunction, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device file for a container.

    Shape: ``path`` in the container; ``host_path`` as this process sees it, None if the runtime has to
           create it from ``major`` and ``minor``.
    """

    path: str
    host_path: Path | None
    major: int | None = None
    minor: int | None = None


@dataclass(frozen=True, slots=True)
class HostFile:
    """A driver file that a container needs: ``path`` in it, ``host_path`` as this process sees it.

    Shape: ``is_socket`` whether programs talk to a service of the host through it.
    """

    path: str
    host_path: Path
    is_socket: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A device that exists but could not be read; other devices are not affected.

    Shape: ``bdf`` is its address where that is known, of a VF its own; ``is_lost`` if the driver answers that
           the GPU is gone or waits for a reset, which is more than a value that cannot be read.
    """

    what: str
    reason: str
    hints: tuple[str, ...] = field(default=())
    bdf: Bdf | None = None
    is_lost: bool = False
