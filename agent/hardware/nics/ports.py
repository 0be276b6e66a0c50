"""The ports through which NICs and VFs are read closely and changed.

Every method may raise a ``HardwareError``. ``NicReader`` changes nothing; ``Nics`` has it beside the writers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.hardware.health.ports import NicVitalsReader
from agent.hardware.nics.links import Link
from agent.hardware.nics.types import (
    DriverBinding,
    IommuGroup,
    NetInterface,
    RdmaDevice,
    VfCount,
    VfioNodes,
    VfSettings,
)
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.reuse import Reuse
from agent.hardware.types import Bdf, PciFunction


class NicReader(NicVitalsReader, Protocol):
    """Reads what preparing a NIC or VF must know, and its health.

    Raises everywhere: NotFound without the function.
    """

    def reusing(self, reuse: Reuse) -> NicReader:
        """Return this reader, which reads what concerns all functions anew only where ``reuse`` says so."""
        ...

    def vf_count(self, pf: Bdf) -> VfCount:
        """Return the number of VFs that a PF has, and the most that it can have."""
        ...

    def virtual_function(self, pf: Bdf, index: int) -> Bdf | None:
        """Return the address of a VF, None if it does not exist."""
        ...

    def parent(self, vf: Bdf) -> tuple[Bdf, int] | None:
        """Return the PF of a VF and the VF's index, None for a function that is no VF."""
        ...

    def has_driver(self, driver: str) -> bool:
        """Whether the kernel has a PCI driver of this name."""
        ...

    def binding(self, bdf: Bdf) -> DriverBinding:
        """Return the driver of a function, and the one that an override demands."""
        ...

    def rdma_devices(self, bdf: Bdf) -> tuple[RdmaDevice, ...]:
        """Return the RDMA devices of a function by name, none while its driver has not made one.

        A driver makes them some time after it got the function, so callers wait and read again.
        """
        ...

    def iommu_group(self, bdf: Bdf) -> IommuGroup | None:
        """Return the IOMMU group of a function with all its members, None if it has none."""
        ...

    def iommu_groups(self, drivers: Mapping[Bdf, str | None]) -> Mapping[Bdf, IommuGroup]:
        """Return the groups of functions whose drivers are known, without those that have none.

        One reading for all: it does not ask for the groups' ``kind``.
        """
        ...

    def vfio_nodes(self, bdf: Bdf) -> VfioNodes:
        """Return the nodes for a function that has a VFIO driver. Raises: NotThereYet."""
        ...

    def interfaces(self, bdf: Bdf) -> tuple[NetInterface, ...]:
        """Return the interfaces of a function, the preferred one first.

        Shape: only those in the reader's network namespace; none for a function whose interface is in a
               pod, or whose driver makes none.
        """
        ...

    def needed_for_default_route(self, bdf: Bdf) -> tuple[str, ...]:
        """Return the way from a function's interface up to the one with the node's default route.

        Shape: names of interfaces; empty if the node does not need this function.
        """
        ...

    def default_route_functions(self) -> Mapping[Bdf, tuple[str, ...]]:
        """Return that way for every function that the node needs: one reading for all."""
        ...

    def eswitch_mode(self, pf: Bdf) -> str | None:
        """Return ``legacy`` or ``switchdev``, None if it is unknown."""
        ...

    def eswitch_mode_in_files(self, pf: Bdf) -> str | None:
        """Return the mode as far as files tell it: no driver is asked, which needs CAP_NET_ADMIN."""
        ...

    def data_direct(self, bdfs: Iterable[Bdf], besides: Collection[Bdf] = ()) -> Mapping[Bdf, PciFunction]:
        """Return the functions through which NICs' cards read GPU memory directly, where they are known.

        Shape: ``besides`` are functions that are known to be something else; they are not looked at.
        """
        ...


class FunctionWriter(Protocol):
    """Changes how many VFs a PF has, and which driver a function has. Each call may be repeated."""

    def set_vf_count(self, pf: Bdf, count: int) -> int:
        """Set the number of VFs, from 0 to ``count`` or to 0, and return how many there are then.

        The driver may make fewer than asked without an error. Setting 0 removes all VFs, also those in use.
        Raises: InUse (it has another number), InvalidArgument (more than it can have),
                InsufficientResources (no interrupt vectors left), NotSupported (no driver with SR-IOV).
        """
        ...

    def set_autoprobe(self, pf: Bdf, enabled: bool) -> None:
        """Say whether VFs that are made later get their driver by themselves."""
        ...

    def give_to(self, bdf: Bdf, driver: str) -> DriverBinding:
        """Give a function to a driver, whatever it has now, and return what it had before.

        A caller who must restore reads and records ``binding`` first. Raises: DriverMissing, InUse,
        HardwareFault if the driver does not take the function.
        """
        ...

    def restore(self, bdf: Bdf, original: DriverBinding) -> None:
        """Restore a function's driver, or its lack of one, and its driver override. Raises: as above."""
        ...

    def restart(self, bdf: Bdf, original: DriverBinding) -> None:
        """Unbind a function from its driver, then restore it: the driver reads again what the PF set for it.

        Its devices and interfaces are other ones afterwards. Raises: as above.
        """
        ...


class VfSettingsPort(Protocol):
    """Reads and changes what PFs set for their VFs; a VF cannot change it itself."""

    def read(self, pf: Bdf, index: int) -> VfSettings:
        """Return all settings of one VF. Raises: NotFound."""
        ...

    def write(self, pf: Bdf, index: int, wanted: VfSettings) -> VfSettings:
        """Set what ``wanted`` gives and return what the settings were before.

        Only what differs is written. Raises: InvalidArgument, AlreadyTaken (another has the MAC or
        GUID) with nothing changed; NotSupported if the driver cannot set one, with those before it set.
        """
        ...

    def refuse_taken(self, pf: Bdf, index: int, wanted: VfSettings) -> None:
        """Check that no other VF and no interface of the node has the MAC or a GUID of ``wanted``.

        Raises: AlreadyTaken, NotFound.
        """
        ...

    def restore(self, pf: Bdf, index: int, original: VfSettings) -> None:
        """Set everything back to what was read before."""
        ...


class InterfaceMover(Protocol):
    """Moves the network interfaces of functions into namespaces and back. Each call may be repeated."""

    def find(self, bdf: Bdf, namespace: Path | None = None) -> Link | None:
        """Return a function's link in a namespace (None: the host's), None if it is not there."""
        ...

    def move_in(self, bdf: Bdf, namespace: Path, wanted: WantedInterface) -> Link:
        """Bring a function's link into a namespace, as wanted, and return it.

        Raises: NotThereYet if neither host nor namespace has it; InvalidArgument, AlreadyTaken (name or MAC)
                with nothing changed; NotFound without the namespace.
        """
        ...

    def move_back(self, bdf: Bdf, original: WantedInterface, namespace: Path | None) -> Link:
        """Bring a function's link back to the host, as it was, and return it.

        ``namespace`` is where it was, None if unknown; it may have ended. If another link took its name
        meanwhile, it is called ``dev<index>``. Raises: NotThereYet until the kernel has given it back.
        """
        ...


@dataclass(frozen=True, slots=True)
class Nics:
    """The NICs of a machine, for programs that change them."""

    reader: NicReader
    functions: FunctionWriter
    settings: VfSettingsPort
    interfaces: InterfaceMover
