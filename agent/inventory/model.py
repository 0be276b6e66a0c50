"""One immutable picture of a node, and the devices that can be cut from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from agent.hardware.types import (
    DriverVersions,
    Gpu,
    GpuInstance,
    GpuUuid,
    MigProfile,
    MigSpec,
    PciFunction,
    PhysicalFunction,
    Placement,
    Unreadable,
    VirtualFunction,
)
from scheduler_core.books.ledger import Ledger
from scheduler_core.frontends.partitions.table import PartitionTable
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import DeviceName
from scheduler_core.model.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEntry:
    """A GPU with everything that discovery learnt of it.

    Shape: ``profiles`` and ``instances`` are empty without MIG; ``function`` is None where sysfs does
           not know the GPU's address (its topology is then unknown); ``offers_whole`` is False where
           the GPU is stuck in MIG mode, ``offers_partitions`` where it is stuck out of it.
    """

    gpu: Gpu
    profiles: tuple[MigProfile, ...] = ()
    instances: tuple[GpuInstance, ...] = ()
    function: PciFunction | None = None
    offers_whole: bool = True
    offers_partitions: bool = True


@dataclass(frozen=True, slots=True)
class LinkedGpus:
    """Which GPUs of the node may be given together.

    Shape: with ``is_honored`` no others are offered, not even single ones that the table lacks.
    """

    table: PartitionTable
    is_honored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What is on a node.

    Shape: ``versions`` is None without GPUs; ``gpus`` by minor; ``nics`` by BDF; ``unreadable`` what is
           there but could not be read; ``linked`` None where nobody gave a table of partitions.
    """

    node: str
    boot_id: str
    versions: DriverVersions | None = None
    gpus: tuple[GpuEntry, ...] = ()
    nics: tuple[PhysicalFunction, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    linked: LinkedGpus | None = None


@dataclass(frozen=True, slots=True)
class WholeGpu:
    """A GPU given whole."""

    gpu: Gpu


@dataclass(frozen=True, slots=True)
class GpuPartition:
    """GPUs that links join, given whole and together. Shape: ``gpus`` by minor, at least two."""

    gpus: tuple[Gpu, ...]


@dataclass(frozen=True, slots=True)
class MigPartition:
    """A MIG partition that does not have to exist yet."""

    gpu: Gpu
    profile: MigProfile
    placement: Placement

    @property
    def spec(self) -> MigSpec:
        """Return what the hardware is asked for."""
        return MigSpec(self.gpu.uuid, self.profile.profile_id, self.placement)


@dataclass(frozen=True, slots=True)
class WholeNic:
    """A NIC's physical function."""

    pf: PhysicalFunction


@dataclass(frozen=True, slots=True)
class NicVf:
    """A virtual function of a NIC."""

    pf: PhysicalFunction
    vf: VirtualFunction


PublishedDevice = WholeGpu | GpuPartition | MigPartition | WholeNic | NicVf
Hardware = MigSpec | frozenset[GpuUuid]
"""What a device is, whatever it is called: a partition's place, or whole GPUs."""


def gpus_of(device: PublishedDevice) -> Iterator[Gpu]:
    """Yield the GPUs that a device is, or the one that it is cut from."""
    match device:
        case WholeGpu(gpu=gpu) | MigPartition(gpu=gpu):
            yield gpu
        case GpuPartition(gpus=gpus):
            yield from gpus
        case WholeNic() | NicVf():
            return


def hardware_of(device: PublishedDevice) -> Hardware | None:
    """Return what a device is, None for what is no GPU."""
    match device:
        case WholeGpu() | GpuPartition():
            return frozenset(gpu.uuid for gpu in gpus_of(device))
        case MigPartition() as partition:
            return partition.spec
        case WholeNic() | NicVf():
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Devices that belong together and should lie in one slice: a GPU or a NIC with its parts."""

    mixins: tuple[Mixin, ...]
    devices: tuple[CompositeDevice, ...]


@dataclass(frozen=True, kw_only=True)
class NodeDevices:
    """The devices of a node: as written, what each name means, and flattened for the core's counting.

    Shape: ``shared`` are the mixins that several groups include; ``groups`` and ``by_name`` are in
           published order; ``left_out`` what was not published or was cut from a device, each a sentence that
           begins with its name.
    """

    shared: tuple[Mixin, ...]
    groups: tuple[Group, ...]
    by_name: Mapping[DeviceName, PublishedDevice]
    pool: Pool
    left_out: tuple[str, ...] = ()

    @cached_property
    def books(self) -> Ledger:
        """Return the pool's ledger while nothing is taken. To be copied: it never changes."""
        return Ledger(self.pool)

    @cached_property
    def by_hardware(self) -> Mapping[Hardware, DeviceName]:
        """Return the names of all GPUs and partitions by what they are."""
        found = ((hardware_of(device), name) for name, device in self.by_name.items())
        return {hardware: name for hardware, name in found if hardware is not None}
