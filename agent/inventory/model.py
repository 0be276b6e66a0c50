"""The hardware of a node as one immutable value, and the devices that it offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from agent.hardware.fabric.types import FabricMode, FabricPartition
from agent.hardware.types import (
    Bdf,
    DriverVersions,
    GpuInstance,
    GpuUuid,
    MigProfile,
    PciFunction,
    PhysicalFunction,
    Unreadable,
)
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.nic_facts import NO_FACTS, FunctionFacts
from agent.inventory.numbers.numbering import NumberedGpu
from agent.inventory.numbers.unlisted import UnlistedGpu
from agent.inventory.operator_attributes import NO_ATTRIBUTES, OperatorAttributes
from agent.inventory.published import Hardware, PublishedDevice, WholeNic, hardware_of
from agent.inventory.vfs.offer import ALL_OF_IT, NicOffer
from agent.inventory.vfs.rules import VfRules
from agent.inventory.withheld import Reason, Withheld
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.frontends.partitions.table import Partition, PartitionTable
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import DeviceName, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEntry:
    """A GPU with everything that discovery read of it.

    Shape: ``profiles`` and ``instances`` are empty without MIG; ``function`` is None if sysfs has no
           function at the GPU's address (its topology is then unknown); ``offers_whole`` is False while
           MIG mode cannot be turned off, ``offers_partitions`` while it cannot be turned on; ``partition``
           is the fabric manager's id of the GPU alone, None where none is needed, or it has none;
           ``mig_problem`` why its profiles or instances could not be read, empty if they were;
           ``are_instances_known`` is False if those that exist may be others.
    """

    gpu: NumberedGpu
    profiles: tuple[MigProfile, ...] = ()
    instances: tuple[GpuInstance, ...] = ()
    function: PciFunction | None = None
    offers_whole: bool = True
    offers_partitions: bool = True
    partition: int | None = None
    mig_problem: str = ""
    are_instances_known: bool = True


@dataclass(frozen=True, slots=True)
class Fabric:
    """How the node's GPUs are joined.

    Shape: ``partitions`` by id, those of Shared NVSwitch mode; ``problem`` says why no whole GPU can be
           prepared, None where one can; ``is_unread`` where the fabric manager did not answer.
    """

    mode: FabricMode = FabricMode.NONE
    partitions: tuple[FabricPartition, ...] = ()
    problem: Reason | None = None
    is_unread: bool = False

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

    def alone(self, number: int) -> Partition | None:
        """Return the table's entry of a GPU by itself, None if it has none."""
        found = (one for one in self.table.by_size.get(1, ()) if one.minors == (number,))
        return next(found, None)


@dataclass(frozen=True, slots=True)
class SplitGpus:
    """On which GPUs of the node a GPU instance may have several compute instances, of several claims.

    Shape: ``numbers`` is None for all GPUs.
    """

    numbers: frozenset[int] | None = None

    def has(self, number: int) -> bool:
        """Whether the GPU of a number is among them."""
        return self.numbers is None or number in self.numbers


class Part(StrEnum):
    """A part of a node that is read by itself, so that its faults touch no other part."""

    GPUS = "GPUs"
    NICS = "NICs"
    FABRIC = "fabric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What is on a node.

    Shape: ``versions`` is None without GPUs; ``gpus`` by number; ``nics`` by BDF; ``unreadable`` are devices
           that exist but could not be read; ``linked`` is None without a table of partitions; ``modes`` in
           which the GPUs are offered; ``split`` is None where no GPU instance is offered in parts, ``vfs``
           where nobody changes the number of VFs;
           ``functions`` the facts of the NICs' functions; ``withheld`` what is not offered, empty before
           somebody judged it; ``pools_of_gpus`` which GPUs, by number, belong to pools of several nodes, and
           to which; ``multus_resource`` the name under which Multus finds VFs, None for none;
           ``unlisted`` the GPUs that PCI shows and the driver does not list, by number;
           ``has_imex`` whether the driver has IMEX channels; the first ``imex_channels`` are offered;
           ``unread`` are the parts of which something could not be read; ``remembered`` are the GPUs and the
           functions of NICs that are here as an earlier look found them; ``offers`` what of NICs is
           offered, by address, of others all; ``attributes`` are what the operator says of devices.
    """

    node: str
    boot_id: str
    versions: DriverVersions | None = None
    gpus: tuple[GpuEntry, ...] = ()
    unlisted: tuple[UnlistedGpu, ...] = ()
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
    pools_of_gpus: Mapping[int, str] = field(default_factory=dict)
    unread: frozenset[Part] = frozenset()
    remembered: frozenset[GpuUuid | Bdf] = frozenset()
    offers: Mapping[Bdf, NicOffer] = field(default_factory=dict)
    attributes: OperatorAttributes = NO_ATTRIBUTES

    def nic(self, pf: PhysicalFunction) -> WholeNic:
        """Return a NIC as a device."""
        bdf = pf.function.bdf
        return WholeNic(pf, self.facts_of(bdf), self.offer_of(bdf).of_nic)

    @property
    def direct_switches(self) -> frozenset[Bdf]:
        """Return the PCIe switches below which a NIC's card has its data-direct function."""
        found = (facts.data_direct for facts in self.functions.values())
        return frozenset(one.path.switches[-1] for one in found if one is not None and one.path.switches)

    def offer_of(self, bdf: Bdf) -> NicOffer:
        """Return what of a NIC is offered."""
        return self.offers.get(bdf, ALL_OF_IT)

    def facts_of(self, bdf: Bdf) -> FunctionFacts:
        """Return the facts of a function, none where nobody looked at it."""
        return self.functions.get(bdf, NO_FACTS)


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
           each beginning with the device's name; ``withheld`` are devices that exist and are not offered;
           ``unlisted`` GPUs that no claim can have, since the driver does not list them;
           ``remembered`` are devices that could not be read now and are as an earlier look found them;
           ``modes`` in which each GPU is offered, by the numbers of those that could be read.
    """

    shared: tuple[Mixin, ...]
    groups: tuple[Group, ...]
    by_name: Mapping[DeviceName, PublishedDevice]
    pool: Pool
    left_out: tuple[str, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    remembered: frozenset[DeviceName] = frozenset()
    unlisted: tuple[UnlistedGpu, ...] = ()
    modes: Mapping[int, ModesOfGpu] = field(default_factory=dict)

    @cached_property
    def books(self) -> Ledger:
        """Return the pool's ledger with nothing allocated. Copy it before changing it."""
        return Ledger(self.pool)

    @cached_property
    def kinds(self) -> Mapping[DeviceName, str]:
        """Return the attribute ``type`` of every device: ``gpu``, ``mig``, ``vf`` and others."""
        attribute = qualified("type", self.pool.id.driver)
        return {one.name: str(one.attributes.get(attribute, "device")) for one in self.pool.devices}

    def capacity(self, name: DeviceName) -> Mapping[QualifiedName, Quantity]:
        """Return the capacity of a device of the pool, empty where it has none of that name."""
        return next((one.capacity for one in self.pool.devices if one.name == name), {})

    @cached_property
    def by_hardware(self) -> Mapping[Hardware, DeviceName]:
        """Return the names of all devices by their hardware."""
        return {hardware_of(device): name for name, device in self.by_name.items()}
