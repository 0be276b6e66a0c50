"""The ``NicReader`` of real and of simulated machines: what preparing a NIC or VF must know, from files.

Takes a root folder and PCI addresses; returns values. Nothing is written, and nothing is kept unless a
``ReuseUnchanged`` was handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from agent.hardware import attributes
from agent.hardware.errors import NotFound
from agent.hardware.health.types import NicVitals
from agent.hardware.interfaces import LINK_TYPES, Interfaces
from agent.hardware.nics.reading import cards, host_network, iommu, rdma, vitals
from agent.hardware.nics.types import (
    DriverBinding,
    IommuGroup,
    NetInterface,
    RdmaDevice,
    VfCount,
    VfioNodes,
)
from agent.hardware.reuse import READ_ANEW, Reuse
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import Bdf, PciFunction
from agent.hardware.vfs.links import VF_LINK

EswitchMode = Callable[[Bdf], str | None]
"""Asks the driver for a PF's mode; None if it does not answer."""

_UNSET: Final = ("", "(null)")
_MODES: Final = ("legacy", "switchdev")


def no_answer(_: Bdf) -> None:
    """Stand where no driver can be asked."""


@dataclass(frozen=True, slots=True)
class SysfsNics:
    """The ``NicReader`` below ``root``. ``ask_eswitch`` asks drivers that do not tell their mode in files."""

    root: Path = Path("/")
    ask_eswitch: EswitchMode = no_answer
    reuse: Reuse = READ_ANEW

    def reusing(self, reuse: Reuse) -> Self:
        """Return this reader, which reads all groups anew only where ``reuse`` says so."""
        return replace(self, reuse=reuse)

    def vf_count(self, pf: Bdf) -> VfCount:
        """Return the number of VFs that a PF has, and the most that it can have. Raises: NotFound."""
        folder = self._folder(pf)
        present, most = (attributes.number(folder / f"sriov_{name}vfs") for name in ("num", "total"))
        return VfCount(present or 0, most or 0)

    def virtual_function(self, pf: Bdf, index: int) -> Bdf | None:
        """Return the address of a VF, None if it does not exist. Raises: NotFound without the PF."""
        name = attributes.link_name(self._folder(pf) / f"virtfn{index}")
        return Bdf(name) if name else None

    def parent(self, vf: Bdf) -> tuple[Bdf, int] | None:
        """Return the PF of a VF and the VF's index, None for a function that is no VF. Raises: NotFound."""
        name = attributes.link_name(self._folder(vf) / "physfn")
        if name is None:
            return None
        pf, folder = Bdf(name), self._folder(Bdf(name))
        links = ((VF_LINK.fullmatch(each), each) for each in attributes.names(folder))
        found = (
            int(match[1]) for match, each in links if match and attributes.link_name(folder / each) == vf
        )
        index = next(found, None)
        return None if index is None else (pf, index)

    def has_driver(self, driver: str) -> bool:
        """Whether the kernel has a PCI driver of this name."""
        return attributes.is_folder(self.root / "sys/bus/pci/drivers" / driver)

    def binding(self, bdf: Bdf) -> DriverBinding:
        """Return the driver of a function. Raises: NotFound."""
        folder = self._folder(bdf)
        override = attributes.text(folder / "driver_override") or ""
        return DriverBinding(
            attributes.link_name(folder / "driver"), None if override in _UNSET else override
        )

    def rdma_devices(self, bdf: Bdf) -> tuple[RdmaDevice, ...]:
        """Return the RDMA devices of a function by name, none while its driver has not made one."""
        self._folder(bdf)
        return rdma.rdma_devices(self.root, bdf)

    def iommu_group(self, bdf: Bdf) -> IommuGroup | None:
        """Return the IOMMU group of a function, None if it has none. Raises: NotFound."""
        self._folder(bdf)
        return iommu.iommu_group(self.root, bdf)

    def iommu_groups(self, drivers: Mapping[Bdf, str | None]) -> Mapping[Bdf, IommuGroup]:
        """Return the groups of functions whose drivers are known, without those that have none."""
        return iommu.iommu_groups(self.root, drivers, self.reuse)

    def vfio_nodes(self, bdf: Bdf) -> VfioNodes:
        """Return the nodes for a function that has a VFIO driver. Raises: NotThereYet."""
        return iommu.vfio_nodes(self.root, bdf)

    def nic_vitals(self, bdf: Bdf) -> NicVitals:
        """Return how a NIC function is now. Raises: NotFound."""
        self._folder(bdf)
        return vitals.nic_vitals(self.root, bdf)

    def interfaces(self, bdf: Bdf) -> tuple[NetInterface, ...]:
        """Return the interfaces of a function in the reader's namespace, the preferred one first."""
        found = (_interface(folder) for folder in Interfaces.netdevs_of(self.root / "sys", bdf))
        return tuple(each for each in found if each is not None)

    def needed_for_default_route(self, bdf: Bdf) -> tuple[str, ...]:
        """Return the way from a function's interface up to the one with the node's default route.

        Shape: names of interfaces; empty if the node does not need this function.
        """
        return self.default_route_functions().get(bdf, ())

    def default_route_functions(self) -> Mapping[Bdf, tuple[str, ...]]:
        """Return that way for every function that the node needs."""
        found: dict[Bdf, tuple[str, ...]] = {}
        for name, way in host_network.needed_interfaces(self.root).items():
            bdf = Interfaces.function_of(self.root / "sys", name)
            if bdf is not None:
                found.setdefault(bdf, way)
        return found

    def eswitch_mode(self, pf: Bdf) -> str | None:
        """Return ``legacy`` or ``switchdev``, None if it is unknown.

        Drivers that have no file for it are asked, which only a program with CAP_NET_ADMIN may.
        """
        return self.eswitch_mode_in_files(pf) or self.ask_eswitch(pf)

    def eswitch_mode_in_files(self, pf: Bdf) -> str | None:
        """Return the mode as far as files tell it.

        NVIDIA's own driver package has a file; a PF whose interface has a switch id is in switchdev mode.
        """
        for own in Interfaces.netdevs_of(self.root / "sys", pf):
            folder = f"{self.root}/sys/class/net/{own.name}"
            said = attributes.text(f"{folder}/compat/devlink/mode")
            if said in _MODES:
                return said
            if attributes.text(f"{folder}/phys_switch_id"):
                return "switchdev"
        return None

    def data_direct(self, bdfs: Iterable[Bdf], besides: Collection[Bdf] = ()) -> Mapping[Bdf, PciFunction]:
        """Return the functions through which NICs' cards read GPU memory directly, where they are known."""
        sysfs = Sysfs(self.root, self.reuse)
        found = cards.data_direct(self.root, bdfs, sysfs.addresses(besides))
        return {bdf: sysfs.function(function) for bdf, function in found.items()}

    def _folder(self, bdf: Bdf) -> Path:
        folder = self.root / "sys/bus/pci/devices" / bdf
        if not attributes.is_folder(folder):
            raise NotFound("read", f"PCI function {bdf}", f"{folder} does not exist")
        return folder


def _interface(folder: Path) -> NetInterface | None:
    """Read one interface; one that disappears meanwhile is left out."""
    mac, index = attributes.text(folder / "address"), attributes.number(folder / "ifindex")
    if mac is None or index is None:
        return None
    return NetInterface(
        name=folder.name,
        index=index,
        mac=mac,
        mtu=attributes.number(folder / "mtu") or 0,
        state=attributes.text(folder / "operstate") or "unknown",
        link_type=LINK_TYPES.get(attributes.number(folder / "type") or 0),
    )
