"""PCI functions and NICs, read from sysfs.

Takes a root folder; returns values. A device that disappears while it is read is left out; one that exists
but cannot be read is an ``Unreadable``. Neither affects other devices. This module never writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.errors import HardwareError, NotFound
from agent.hardware.interfaces import Interfaces
from agent.hardware.pcie import CONFIG_BYTES, Chain, is_address, is_upstream_port, pcie_path
from agent.hardware.types import (
    Bdf,
    PciePath,
    PciFunction,
    PhysicalFunction,
    Unreadable,
    VirtualFunction,
    normal_bdf,
)
from agent.hardware.vital_product_data import SERIAL, product_data

_NVIDIA: Final = "10de"
_GPU_CLASSES: Final = ("0300", "0302")  # VGA and 3D controllers
_NIC_CLASSES: Final = ("0200", "0207")  # Ethernet and InfiniBand controllers
VF_LINK: Final = re.compile(r"virtfn(\d+)")
"""The name of a PF's link to one of its VFs."""


# On HGX B200 and B300 boards a ConnectX-7 bridge manages the NVLink switches. It is no network card, and its
# vital product data has this mark.
_SWITCH_MANAGEMENT: Final = ("15b3", "1021", b"SW_MNG")
_VITAL_PRODUCT_DATA_BYTES: Final = 32768


@dataclass(frozen=True, slots=True)
class Sysfs:
    """The sysfs below ``root``: the ``PciReader`` of real and of simulated machines."""

    root: Path = Path("/")

    def addresses(self) -> tuple[Bdf, ...]:
        """Return the address of every PCI function, sorted; empty on a machine without PCI.

        Raises: NoPermission, HardwareFault if the list cannot be read.
        """
        found = (name for name in attributes.names(self._functions) if is_address(name))
        return tuple(sorted((Bdf(name) for name in found), key=_address_order))

    def function(self, bdf: Bdf) -> PciFunction:
        """Return one function with its PCIe path and NUMA node.

        Raises: NotFound if it does not exist; NoPermission, HardwareFault if it cannot be read.
        """
        folder = self._folder(bdf)
        node = attributes.number(folder / "numa_node")
        return PciFunction(
            bdf=bdf,
            vendor_id=_identifier(folder, bdf, "vendor"),
            device_id=_identifier(folder, bdf, "device"),
            class_code=_identifier(folder, bdf, "class"),
            numa_node=node if node is not None and node >= 0 else None,
            path=_path(folder),
            driver=attributes.link_name(folder / "driver"),
        )

    def chain(self, bdf: Bdf) -> Chain:
        """Return every bridge above a function. Raises: NotFound."""
        return Chain.of(self._folder(bdf).parts)

    def gpus(self) -> tuple[PciFunction | Unreadable, ...]:
        """Return NVIDIA's GPUs by BDF, whichever driver has them, or none; no VFs of GPUs.

        Raises: NoPermission, HardwareFault if sysfs as a whole cannot be listed.
        """
        found: list[PciFunction | Unreadable] = []
        for bdf in self.addresses():
            try:
                if self._is_gpu(bdf):
                    found.append(self.function(bdf))
            except HardwareError as error:
                if self._is_there(bdf):
                    found.append(Unreadable(f"PCI function {bdf}", str(error), (bdf,)))
        return tuple(found)

    def nics(self) -> tuple[PhysicalFunction | Unreadable, ...]:
        """Return the NICs that are PCI functions, with their VFs, by BDF.

        A VF is listed with its PF only; without a PF, as in a virtual machine, it is listed as a NIC.
        A VF that cannot be read follows its PF as ``Unreadable``.
        Raises: NoPermission, HardwareFault if sysfs as a whole cannot be listed.
        """
        interfaces = Interfaces.read(self._sys)
        found: list[PhysicalFunction | Unreadable] = []
        for bdf in self.addresses():
            try:
                if self._is_nic(bdf):
                    found.extend(self._nic(bdf, interfaces))
            except HardwareError as error:
                if self._is_there(bdf):
                    found.append(Unreadable(f"PCI function {bdf}", str(error), bdf=bdf))
        return tuple(found)

    @property
    def _sys(self) -> Path:
        return self.root / "sys"

    @property
    def _functions(self) -> Path:
        return self._sys / "bus/pci/devices"

    def _is_there(self, bdf: Bdf) -> bool:
        return attributes.is_folder(self._functions / bdf)

    def _folder(self, bdf: Bdf) -> Path:
        if not self._is_there(bdf):
            raise NotFound("read", f"PCI function {bdf}", f"{self._functions / bdf} does not exist")
        return attributes.resolved(self._functions / bdf)

    def _is_gpu(self, bdf: Bdf) -> bool:
        folder = self._functions / bdf
        if _identifier(folder, bdf, "vendor") != _NVIDIA:
            return False
        is_class = _identifier(folder, bdf, "class").startswith(_GPU_CLASSES)
        return is_class and not (folder / "physfn").is_symlink()

    def _is_nic(self, bdf: Bdf) -> bool:
        folder = self._folder(bdf)
        if not _identifier(folder, bdf, "class").startswith(_NIC_CLASSES):
            return False
        return not (folder / "physfn").is_symlink() and not _is_switch_management(folder, bdf)

    def _nic(self, bdf: Bdf, interfaces: Interfaces) -> tuple[PhysicalFunction | Unreadable, ...]:
        vfs = self._virtual_functions(bdf, interfaces)
        pf = PhysicalFunction(
            function=self.function(bdf),
            netdev=interfaces.netdev(bdf),
            rdma_device=interfaces.rdma_device(bdf),
            link_type=interfaces.link_type(bdf),
            link_speed_mbps=interfaces.link_speed_mbps(bdf),
            card_id=self._card_id(bdf, interfaces),
            total_vfs=attributes.number(self._folder(bdf) / "sriov_totalvfs") or 0,
            vfs=tuple(vf for vf in vfs if isinstance(vf, VirtualFunction)),
        )
        return (pf, *(vf for vf in vfs if isinstance(vf, Unreadable)))

    def _card_id(self, bdf: Bdf, interfaces: Interfaces) -> str:
        """Return what all ports of one card share: its GUID, else its serial number, else its slot."""
        return interfaces.card_guid(bdf) or product_data(self.root, bdf).get(SERIAL) or bdf.rpartition(".")[0]

    def _virtual_functions(self, pf: Bdf, interfaces: Interfaces) -> tuple[VirtualFunction | Unreadable, ...]:
        found: list[VirtualFunction | Unreadable] = []
        for index, bdf in self._virtual_addresses(pf):
            try:
                function = self.function(bdf)
            except HardwareError as error:
                if self._is_there(bdf):
                    found.append(Unreadable(f"VF {index} of {pf}", str(error), bdf=bdf))
                continue
            netdev, rdma_device = interfaces.netdev(bdf), interfaces.rdma_device(bdf)
            found.append(
                VirtualFunction(index=index, function=function, netdev=netdev, rdma_device=rdma_device)
            )
        return tuple(found)

    def _virtual_addresses(self, pf: Bdf) -> list[tuple[int, Bdf]]:
        """Return the VFs sorted by number: as text ``virtfn10`` would come before ``virtfn2``."""
        folder = self._folder(pf)
        links = (match for name in attributes.names(folder) if (match := VF_LINK.fullmatch(name)))
        targets = ((int(link[1]), attributes.link_name(folder / link[0])) for link in links)
        return sorted((index, Bdf(name)) for index, name in targets if name and is_address(name))


def _address_order(bdf: Bdf) -> tuple[int, str]:
    return (len(bdf), normal_bdf(bdf))


def _identifier(folder: Path, bdf: Bdf, name: str) -> str:
    return attributes.required_text(folder / name, f"PCI function {bdf}").removeprefix("0x")


def _path(folder: Path) -> PciePath:
    bridges = {part.name: part for part in folder.parents}
    return pcie_path(
        Chain.of(folder.parts),
        lambda bridge: is_upstream_port(attributes.head(bridges[bridge] / "config", CONFIG_BYTES)),
    )


def _is_switch_management(folder: Path, bdf: Bdf) -> bool:
    vendor, device, mark = _SWITCH_MANAGEMENT
    if (_identifier(folder, bdf, "vendor"), _identifier(folder, bdf, "device")) != (vendor, device):
        return False
    return mark in attributes.head(folder / "vpd", _VITAL_PRODUCT_DATA_BYTES)
