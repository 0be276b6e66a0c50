"""The ports through which all programs access a machine.

Adapters (NVML, sysfs, the simulated node) implement these; only ``agent.hardware.open`` names them. Every
method may raise a ``HardwareError``. Reading and writing are separate types, so code that gets ``Readers``
cannot change the machine.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

from agent.hardware.clients.ports import GpuClients
from agent.hardware.fabric.ports import FabricManager, FabricReader
from agent.hardware.health.ports import GpuEventSource, GpuVitalsReader
from agent.hardware.mps.ports import MpsControl
from agent.hardware.nics.ports import NicReader, Nics
from agent.hardware.reuse import READ_ANEW, Reuse
from agent.hardware.types import (
    Bdf,
    ComputeInstance,
    ComputeMode,
    DeviceNode,
    DriverVersions,
    Gpu,
    GpuInstance,
    GpuUuid,
    HostFile,
    MigMode,
    MigProfile,
    MigSpec,
    ModeChange,
    PciFunction,
    PhysicalFunction,
    Placement,
    TimeSlice,
    Unreadable,
)


class GpuFacts(Protocol):
    """Reads what is known of a GPU by its UUID."""

    def versions(self) -> DriverVersions:
        """Return the driver's versions."""
        ...

    def minor(self, gpu: GpuUuid) -> int:
        """Return the present number of a GPU's device node; reloading the driver may change it.

        Raises: NotFound.
        """
        ...

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode, None on a model without MIG."""
        ...

    def compute_mode(self, gpu: GpuUuid) -> ComputeMode:
        """Return which programs may compute on a GPU. Raises: NotSupported."""
        ...

    def profiles(self, gpu: GpuUuid) -> tuple[MigProfile, ...]:
        """Return the model's GPU-instance profiles by profile name, empty on a model without MIG.

        The MIG mode does not matter.
        """
        ...

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        """Return the existing GIs by id, also those without a CI; empty with MIG off."""
        ...

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        """Return the numbers of the processes that compute or draw on a GPU, as the host counts them.

        A process that has only opened the GPU, such as a monitor, is not among them.
        """
        ...


class GpuReader(GpuFacts, GpuVitalsReader, Protocol):
    """Reads GPUs, their MIG instances and their health."""

    def gpus(self) -> tuple[Gpu | Unreadable, ...]:
        """Return every GPU by index; one that cannot be read is an ``Unreadable``.

        Shape: empty if the node has no GPU. Raises: DriverMissing.
        """
        ...

    def in_one_look(self) -> GpuReader:
        """Return a reader for one look at all GPUs, which limits how long it waits for GPUs that hang."""
        ...


class MigWriter(Protocol):
    """Changes MIG modes and MIG instances."""

    def set_mig_mode(self, gpu: GpuUuid, enabled: bool) -> ModeChange:
        """Request the mode and return whether it took effect or is pending.

        Raises: NotSupported on a model without MIG; InUse if instances exist and it shall be turned off.
        """
        ...

    def create_gpu_instance(self, spec: MigSpec) -> int:
        """Create the GI that ``spec`` describes and return its id.

        Raises: NotSupported with MIG off; InvalidArgument for an unknown profile or a placement that
                is not in its list; InsufficientResources if the placement or an engine is occupied.
        """
        ...

    def create_compute_instance(
        self, gpu: GpuUuid, gi_id: int, place: Placement | None = None
    ) -> ComputeInstance:
        """Create a compute instance and its MIG device. Without ``place`` it fills the GPU instance.

        Units: ``place`` compute slices of the GI.
        Raises: NotFound for an unknown GI; InvalidArgument for a place where the GI has no narrower CI;
                InsufficientResources if another CI is there already.
        """
        ...

    def destroy_compute_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int) -> None:
        """Destroy a CI. Raises: NotFound; InUse while a process uses its MIG device."""
        ...

    def destroy_gpu_instance(self, gpu: GpuUuid, gi_id: int) -> None:
        """Destroy a GI. Raises: NotFound; InUse while it has CIs."""
        ...


class ComputeModeWriter(Protocol):
    """Changes compute modes."""

    def set_compute_mode(self, gpu: GpuUuid, mode: ComputeMode) -> None:
        """Set which programs may compute on a GPU from now on. A reboot sets it back.

        Raises: NotSupported in MIG mode, which knows no other than the default.
        """
        ...


class TimeSlices(Protocol):
    """Changes how long programs take turns on GPUs. Nothing that NVIDIA documents reads it."""

    def set_time_slice(self, gpu: GpuUuid, interval: TimeSlice) -> None:
        """Set the interval of a GPU from now on. A reset or a reboot sets it back to the default.

        Raises: NotFound without the driver's program, or for an unknown GPU; NotSupported.
        """
        ...


class Gpus(GpuReader, MigWriter, ComputeModeWriter, Protocol):
    """All of these."""


class PciReader(Protocol):
    """Reads PCI functions and NICs."""

    def reusing(self, reuse: Reuse) -> PciReader:
        """Return this reader, which reads VFs anew only where ``reuse`` says so."""
        ...

    def function(self, bdf: Bdf) -> PciFunction:
        """Return one function with its PCIe path and NUMA node. Raises: NotFound."""
        ...

    def gpus(self, besides: Collection[Bdf] = ()) -> tuple[PciFunction | Unreadable, ...]:
        """Return NVIDIA's GPUs by BDF, whichever driver has them, or none; no VFs of GPUs.

        Shape: ``besides`` are functions that are known to be something else; they are not looked at.
        """
        ...

    def nics(self) -> tuple[PhysicalFunction | Unreadable, ...]:
        """Return the NICs that are PCI functions, with their VFs, by BDF."""
        ...


class DriverFiles(Protocol):
    """Finds the device nodes and driver files that containers need."""

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the device nodes of a whole GPU. Raises: NotFound."""
        ...

    def control_nodes(self) -> tuple[DeviceNode, ...]:
        """Return ``/dev/nvidiactl``, and modeset where it exists. Raises: NotFound without ``nvidiactl``."""
        ...

    def compute_nodes(self) -> tuple[DeviceNode, ...]:
        """Return the nodes of uvm and uvm-tools, by their numbers where the host has none.

        Raises: NotFound where their numbers are unknown, too.
        """
        ...

    def graphics_nodes(self, bdf: Bdf) -> tuple[DeviceNode, ...]:
        """Return the DRM nodes of a GPU, none where its driver has none for graphics."""
        ...

    def instance_nodes(self, minor: int, gi_id: int, ci_id: int) -> tuple[DeviceNode, DeviceNode]:
        """Return the capability nodes of a GI and its CI. Raises: NotFound."""
        ...

    def shows_instance(self, minor: int, gi_id: int, ci_id: int) -> bool:
        """Whether the kernel lists the capability of a CI now. One system call; the GPU is not asked.

        A driver that reuses ids shows another instance in the place of the one that was meant.
        """
        ...

    def monitoring_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the capability node of a monitor and those of a GPU's present MIG instances, by number.

        Shape: without paths on the host, since nodes of instances may go before a container starts again;
               empty with a driver without MIG.
        """
        ...

    def has_imex_channels(self) -> bool:
        """Whether the driver has IMEX channels."""
        ...

    def imex_channel_node(self, channel: int) -> DeviceNode:
        """Return the node of an IMEX channel, by its numbers. Raises: NotFound where there are none."""
        ...

    def libraries(self, driver_version: str) -> tuple[HostFile, ...]:
        """Return the driver's libraries, tools and settings of this version, by path in the container.

        Raises: NotFound if no library has this version.
        """
        ...

    def sockets(self) -> tuple[HostFile, ...]:
        """Return the sockets of the driver's services that run now, by path in the container."""
        ...


class BootReader(Protocol):
    """Identifies the present boot."""

    def boot_id(self) -> str:
        """Return the kernel's boot id; no MIG instance survives a change of it."""
        ...


@dataclass(frozen=True, slots=True)
class Readers:
    """The readers of a machine: all that discovery may use. Shape: ``reuse`` is what they themselves use."""

    gpus: GpuReader
    pci: PciReader
    boot: BootReader
    nics: NicReader
    fabric: FabricReader
    files: DriverFiles
    reuse: Reuse = READ_ANEW

    def reusing(self, reuse: Reuse) -> Readers:
        """Return readers for looks at one machine again and again: what was read of VFs is reused."""
        return replace(self, pci=self.pci.reusing(reuse), nics=self.nics.reusing(reuse), reuse=reuse)


@dataclass(frozen=True, slots=True)
class Machine:
    """A whole machine, for programs that change it."""

    gpus: Gpus
    pci: PciReader
    files: DriverFiles
    boot: BootReader
    nics: Nics
    fabric: FabricManager
    mps: MpsControl
    time_slices: TimeSlices
    clients: GpuClients
    gpu_events: GpuEventSource

    @property
    def readers(self) -> Readers:
        """Return the readers of this machine."""
        return Readers(self.gpus, self.pci, self.boot, self.nics.reader, self.fabric, self.files)
