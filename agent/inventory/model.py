"""The hardware of a node as one immutable value, and the devices that it offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from agent.hardware.fabric.types import FabricMode, FabricPartition
from agent.hardware.nics.types import VFIO_PCI
from agent.hardware.types import (
    Bdf,
    ComputeSpec,
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
from agent.inventory.modes import GpuModes
from agent.inventory.nic_facts import NO_FACTS, FunctionFacts
from agent.inventory.vfs.rules import VfRules
from agent.inventory.withheld import Reason, Withheld
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.frontends.partitions.table import PartitionTable
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import DeviceName, QualifiedName
from scheduler_core.model.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEntry:
    """A GPU with everything that discovery read of it.

    Shape: ``profiles`` and ``instances`` are empty without MIG; ``function`` is None if sysfs has no
           function at the GPU's address (its topology is then unknown); ``offers_whole`` is False while
           MIG mode cannot be turned off, ``offers_partitions`` while it cannot be turned on; ``partition``
           is the fabric manager's id of the GPU alone, None where none is needed, or it has none.
    """

    gpu: Gpu
    profiles: tuple[MigProfile, ...] = ()
    instances: tuple[GpuInstance, ...] = ()
    function: PciFunction | None = None
    offers_whole: bool = True
    offers_partitions: bool = True
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Fabric:
    """How the node's GPUs are joined.

    Shape: ``partitions`` by id, those of Shared NVSwitch mode; ``problem`` says why no whole GPU can be
           prepared, None where one can.
    """

    mode: FabricMode = FabricMode.NONE
    partitions: tuple[FabricPartition, ...] = ()
    problem: Reason | None = None

    @property
    def is_in_the_way(self) -> bool:
        """Whether a GPU can be used only while it is joined, or not at all."""
        return self.mode is not FabricMode.NONE or self.problem is not None


NO_FABRIC = Fabric()
"""All GPUs are joined at boot, or no GPU can be."""


@dataclass(frozen=True, slots=True)
class LinkedGpus:
    """Which GPUs of the node may be allocated together.

    Shape: with ``is_honored`` only the table's GPUs and groups are offered, no other single GPU.
    """

    table: PartitionTable
    is_honored: bool = False


@dataclass(frozen=True, slots=True)
class SplitGpus:
    """On which GPUs of the node a GPU instance may have several compute instances, of several claims.

    Shape: ``minors`` is None for all GPUs.
    """

    minors: frozenset[int] | None = None

    def has(self, minor: int) -> bool:
        """Whether the GPU of a minor is among them."""
        return self.minors is None or minor in self.minors


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What is on a node.

    Shape: ``versions`` is None without GPUs; ``gpus`` by minor; ``nics`` by BDF; ``unreadable`` are devices
           that exist but could not be read; ``linked`` is None without a table of partitions; ``modes`` in
           which the GPUs are offered; ``split`` is None where no GPU instance is offered in parts, ``vfs``
           where nobody changes the number of VFs;
           ``functions`` the facts of the NICs' functions; ``withheld`` what is not offered, empty before
           somebody judged it; ``multus_resource`` the name under which Multus finds VFs, None for none;
           ``has_imex`` whether the driver has IMEX channels; the first ``imex_channels`` are offered.
    """

    node: str
    boot_id: str
    versions: DriverVersions | None = None
    gpus: tuple[GpuEntry, ...] = ()
    nics: tuple[PhysicalFunction, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    linked: LinkedGpus | None = None
    modes: GpuModes = field(default_factory=GpuModes)
    fabric: Fabric = NO_FABRIC
    has_imex: bool = False
    imex_channels: int = 0
    vfs: VfRules | None = None
    split: SplitGpus | None = None
    functions: Mapping[Bdf, FunctionFacts] = field(default_factory=dict)
    withheld: tuple[Withheld, ...] = ()
    multus_resource: str | None = None

    def nic(self, pf: PhysicalFunction) -> WholeNic:
        """Return a NIC as a device."""
        return WholeNic(pf, self.facts_of(pf.function.bdf))

    @property
    def direct_switches(self) -> frozenset[Bdf]:
        """Return the PCIe switches below which a NIC's card has its data-direct function."""
        found = (facts.data_direct for facts in self.functions.values())
        return frozenset(one.path.switch for one in found if one is not None and one.path.switch)

    def facts_of(self, bdf: Bdf) -> FunctionFacts:
        """Return the facts of a function, none where nobody looked at it."""
        return self.functions.get(bdf, NO_FACTS)


@dataclass(frozen=True, slots=True)
class WholeGpu:
    """A whole GPU. Shape: ``partition`` of the fabric manager that must be active, None for none."""

    gpu: Gpu
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class SharedGpu:
    """A whole GPU that several claims use at once, each with a share of its memory."""

    gpu: Gpu


@dataclass(frozen=True, slots=True)
class MpsGpu:
    """A whole GPU on which programs of several claims run at once, under MPS, each claim with a share."""

    gpu: Gpu


@dataclass(frozen=True, slots=True)
class GpuPartition:
    """An NVLink partition: whole GPUs, allocated together.

    Shape: ``gpus`` by minor, at least two; ``partition`` of the fabric manager that must be active, or None.
    """

    gpus: tuple[Gpu, ...]
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class MigPartition:
    """A MIG partition; it need not exist yet."""

    gpu: Gpu
    profile: MigProfile
    placement: Placement

    @property
    def spec(self) -> MigSpec:
        """Return the partition as the hardware is asked for it."""
        return MigSpec(self.gpu.uuid, self.profile.profile_id, self.placement)


@dataclass(frozen=True, slots=True)
class MigComputeInstance:
    """A compute instance that leaves room in its GPU instance; neither need exist yet.

    Units: ``place`` compute slices of the GPU instance.
    """

    gpu: Gpu
    profile: MigProfile
    placement: Placement
    place: Placement

    @property
    def spec(self) -> ComputeSpec:
        """Return the compute instance as the hardware is asked for it."""
        return ComputeSpec(MigSpec(self.gpu.uuid, self.profile.profile_id, self.placement), self.place)


@dataclass(frozen=True, slots=True)
class WholeNic:
    """A NIC's physical function."""

    pf: PhysicalFunction
    facts: FunctionFacts = NO_FACTS


@dataclass(frozen=True, slots=True)
class NicVf:
    """A virtual function of a NIC; one that is made for claims need not exist yet.

    Shape: ``vf`` is None while it does not exist; ``on_demand`` how many VFs its NIC gets for claims, None
           where its VFs are there without them.
    Units: ``bandwidth`` Mbit/s that it may send, None where nothing limits it.
    """

    pf: PhysicalFunction
    index: int
    vf: VirtualFunction | None
    on_demand: int | None = None
    facts: FunctionFacts = NO_FACTS
    bandwidth: int | None = None

    @property
    def has_rdma(self) -> bool:
        """Whether it can be used for RDMA, which claims must not change.

        One on a VFIO driver has no RDMA device as long as it is there, one that does not exist has none: then
        it is as its NIC is.
        """
        own = self._lasting
        return (self.pf if own is None else own).rdma_device is not None

    @property
    def kernel_driver(self) -> str | None:
        """Return the driver that makes its interface, which claims must not change: as for RDMA."""
        own = self._lasting
        return (self.pf if own is None else own).function.driver

    @property
    def _lasting(self) -> VirtualFunction | None:
        """Return the VF where its facts are its own, None where claims made it or gave it to VFIO."""
        if self.vf is None or self.on_demand is not None or self.vf.function.driver == VFIO_PCI:
            return None
        return self.vf

    @property
    def watched(self) -> Bdf:
        """Return the function that must answer: its NIC where the VF comes and goes with claims."""
        return self.pf.function.bdf if self.vf is None or self.on_demand else self.vf.function.bdf


@dataclass(frozen=True, slots=True)
class NicFunction:
    """A function of a NIC by the NIC's address. Shape: ``vf`` the index of a VF, None for the NIC itself."""

    pf: Bdf
    vf: int | None = None


@dataclass(frozen=True, slots=True)
class ImexChannel:
    """A number of the driver for memory that programs on several nodes share."""

    number: int


PublishedDevice = (
    WholeGpu
    | SharedGpu
    | MpsGpu
    | GpuPartition
    | MigPartition
    | MigComputeInstance
    | WholeNic
    | NicVf
    | ImexChannel
)


@dataclass(frozen=True, slots=True)
class InShares:
    """A whole GPU of which claims have shares."""

    gpu: GpuUuid


@dataclass(frozen=True, slots=True)
class UnderMps:
    """A whole GPU of which claims have shares under MPS."""

    gpu: GpuUuid


Hardware = MigSpec | ComputeSpec | InShares | UnderMps | NicFunction | ImexChannel | frozenset[GpuUuid]
"""The hardware behind a device, whatever its name: a MIG placement, a place in one, a GPU in shares, one
under MPS, a function of a NIC, an IMEX channel, or whole GPUs.
"""


def gpus_of(device: PublishedDevice) -> Iterator[Gpu]:
    """Yield the GPUs of a device, or the GPU that it is cut from."""
    match device:
        case (
            WholeGpu(gpu=gpu)
            | SharedGpu(gpu=gpu)
            | MpsGpu(gpu=gpu)
            | MigPartition(gpu=gpu)
            | MigComputeInstance(gpu=gpu)
        ):
            yield gpu
        case GpuPartition(gpus=gpus):
            yield from gpus
        case WholeNic() | NicVf() | ImexChannel():
            return


def hardware_of(device: PublishedDevice) -> Hardware:
    """Return the hardware behind a device."""
    match device:
        case WholeGpu() | GpuPartition():
            return frozenset(gpu.uuid for gpu in gpus_of(device))
        case SharedGpu(gpu=gpu):
            return InShares(gpu.uuid)
        case MpsGpu(gpu=gpu):
            return UnderMps(gpu.uuid)
        case MigPartition() | MigComputeInstance():
            return device.spec
        case WholeNic(pf=pf):
            return NicFunction(pf.function.bdf)
        case NicVf(pf=pf, index=index):
            return NicFunction(pf.function.bdf, index)
        case ImexChannel():
            return device


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Devices that belong together and should lie in one slice: a GPU or a NIC with its parts."""

    mixins: tuple[Mixin, ...]
    devices: tuple[CompositeDevice, ...]


@dataclass(frozen=True, kw_only=True)
class NodeDevices:
    """The devices of a node: in composite form, by name with their hardware, and flattened for the core.

    Shape: ``shared`` are the mixins that several groups include; ``groups`` and ``by_name`` are in
           published order; ``left_out`` are sentences about devices and attributes that are not published,
           each beginning with the device's name; ``withheld`` are devices that exist and are not offered.
    """

    shared: tuple[Mixin, ...]
    groups: tuple[Group, ...]
    by_name: Mapping[DeviceName, PublishedDevice]
    pool: Pool
    left_out: tuple[str, ...] = ()
    withheld: tuple[Withheld, ...] = ()

    @cached_property
    def books(self) -> Ledger:
        """Return the pool's ledger with nothing allocated. Copy it before changing it."""
        return Ledger(self.pool)

    def capacity(self, name: DeviceName) -> Mapping[QualifiedName, Quantity]:
        """Return the capacity of a device of the pool, empty where it has none of that name."""
        return next((one.capacity for one in self.pool.devices if one.name == name), {})

    @cached_property
    def by_hardware(self) -> Mapping[Hardware, DeviceName]:
        """Return the names of all devices by their hardware."""
        return {hardware_of(device): name for name, device in self.by_name.items()}
