"""The devices that a node offers, and the hardware behind each, whatever its published name is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.hardware.nics.types import VFIO_PCI
from agent.hardware.types import (
    Bdf,
    ComputeSpec,
    GpuUuid,
    MigProfile,
    MigSpec,
    PhysicalFunction,
    Placement,
    VirtualFunction,
)
from agent.inventory.nic_facts import NO_FACTS, FunctionFacts
from agent.inventory.numbers.numbering import NumberedGpu
from scheduler_core.frontends.configuration.values import VfMode


@dataclass(frozen=True, slots=True)
class WholeGpu:
    """A whole GPU. Shape: ``partition`` of the fabric manager that must be active, None for none."""

    gpu: NumberedGpu
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class SharedGpu:
    """A whole GPU that several claims use at once, each with a share of its memory."""

    gpu: NumberedGpu


@dataclass(frozen=True, slots=True)
class MpsGpu:
    """A whole GPU on which programs of several claims run at once, under MPS, each claim with a share."""

    gpu: NumberedGpu


@dataclass(frozen=True, slots=True)
class GpuPartition:
    """An NVLink partition: whole GPUs, allocated together.

    Shape: ``gpus`` by number, at least two; ``partition`` of the fabric manager that must be active, or None.
    """

    gpus: tuple[NumberedGpu, ...]
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class MigPartition:
    """A MIG partition; it need not exist yet."""

    gpu: NumberedGpu
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

    gpu: NumberedGpu
    profile: MigProfile
    placement: Placement
    place: Placement

    @property
    def spec(self) -> ComputeSpec:
        """Return the compute instance as the hardware is asked for it."""
        return ComputeSpec(MigSpec(self.gpu.uuid, self.profile.profile_id, self.placement), self.place)


@dataclass(frozen=True, slots=True)
class WholeNic:
    """A NIC's physical function.

    Shape: ``allowed`` the modes that a policy offers, None for all; empty excludes it.
    """

    pf: PhysicalFunction
    facts: FunctionFacts = NO_FACTS
    allowed: frozenset[VfMode] | None = None

    def allows(self, mode: VfMode) -> bool:
        """Whether claims may have it in a mode, if it can be had so."""
        return self.allowed is None or mode in self.allowed

    @property
    def gives_rdma(self) -> bool:
        """Whether containers get its RDMA devices."""
        return self.pf.rdma_device is not None and self.allows(VfMode.RDMA)


@dataclass(frozen=True, slots=True)
class NicVf:
    """A virtual function of a NIC; one that is made for claims need not exist yet.

    Shape: ``vf`` is None while it does not exist; ``on_demand`` how many VFs its NIC gets for claims, None
           where its VFs are there without them; ``allowed`` the modes that a policy offers, None for all;
           empty excludes it.
    Units: ``bandwidth`` Mbit/s that it may send, None where nothing limits it.
    """

    pf: PhysicalFunction
    index: int
    vf: VirtualFunction | None
    on_demand: int | None = None
    facts: FunctionFacts = NO_FACTS
    bandwidth: int | None = None
    allowed: frozenset[VfMode] | None = None

    def allows(self, mode: VfMode) -> bool:
        """Whether claims may have it in a mode, if it can be had so."""
        return self.allowed is None or mode in self.allowed

    @property
    def gives_rdma(self) -> bool:
        """Whether containers get its RDMA devices."""
        return self.has_rdma and self.allows(VfMode.RDMA)

    @property
    def has_rdma(self) -> bool:
        """Whether it can be used for RDMA, which claims must not change.

        One on a VFIO driver has no RDMA device as long as it is there, one that does not exist has none: then
        it is as its NIC is.
        """
        own = self._lasting
        return (self.pf if own is None else own).rdma_device is not None

    @property
    def has_guid(self) -> bool:
        """Whether it has the GUIDs that an InfiniBand port needs, as far as is known."""
        own = self._lasting
        return own is None or own.has_guid

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


def gpus_of(device: PublishedDevice) -> Iterator[NumberedGpu]:
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


def hardware_ids(device: PublishedDevice) -> Iterator[GpuUuid | Bdf]:
    """Yield the GPUs and the functions of NICs that a device consists of, or is cut from."""
    yield from (gpu.uuid for gpu in gpus_of(device))
    if isinstance(device, WholeNic | NicVf):
        yield device.pf.function.bdf
    if isinstance(device, NicVf) and device.vf is not None:
        yield device.vf.function.bdf


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
