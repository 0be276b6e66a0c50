"""PCI functions and NICs, read from sysfs.

Takes a root folder; returns values. A device that disappears while it is read is left out; one that exists
but cannot be read is an ``Unreadable``. Neither affects other devices. This module never writes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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

    def addresses(self, besides: Collection[Bdf] = ()) -> tuple[Bdf, ...]:
        """Return the address of every PCI function, sorted, without some; empty on a machine without PCI.

        Raises: NoPermission, HardwareFault if the list cannot be read.
        """
        found = (Bdf(name) for name in attributes.names(self._functions) if name not in besides)
        # The names are sorted; what is left is that longer domains are higher.
        return tuple(sorted((bdf for bdf in found if is_address(bdf)), key=len))

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

    def gpus(self, besides: Collection[Bdf] = ()) -> tuple[PciFunction | Unreadable, ...]:
        """Return NVIDIA's GPUs by BDF, whichever driver has them, or none; no VFs of GPUs.

        Shape: ``besides`` are functions that are known to be something else; they are not looked at.
        Raises: NoPermission, HardwareFault if sysfs as a whole cannot be listed.
        """
        found: list[PciFunction | Unreadable] = []
        for bdf in self.addresses(besides):
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
        vfs = set[Bdf]()
        for bdf in self.addresses():
            if bdf in vfs:  # a VF's address is always above its PF's
                continue
            try:
                if self._is_nic(bdf):
                    nic = self._nic(bdf, interfaces)
                    found.extend(nic)
                    vfs.update(_addresses_of_vfs(nic))
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
        folder = self._functions / bdf
        if not _identifier(folder, bdf, "class").startswith(_NIC_CLASSES):
            return False
        return not (folder / "physfn").is_symlink() and not _is_switch_management(folder, bdf)

    def _nic(self, bdf: Bdf, interfaces: Interfaces) -> tuple[PhysicalFunction | Unreadable, ...]:
        function = self.function(bdf)
        vfs = self._virtual_functions(function, interfaces)
        pf = PhysicalFunction(
            function=function,
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

    def _virtual_functions(
        self, pf: PciFunction, interfaces: Interfaces
    ) -> tuple[VirtualFunction | Unreadable, ...]:
        found: list[VirtualFunction | Unreadable] = []
        folder = self._folder(pf.bdf)
        device_id = _vf_device_id(folder)
        for index, bdf, driver in _links_to_vfs(folder):
            try:
                own = device_id or _identifier(folder / f"virtfn{index}", bdf, "device")
            except HardwareError as error:
                if self._is_there(bdf):
                    found.append(Unreadable(f"VF {index} of {pf.bdf}", str(error), bdf=bdf))
                continue
            found.append(
                VirtualFunction(
                    index=index,
                    function=_virtual_function(pf, bdf, own, driver),
                    netdev=interfaces.netdev(bdf),
                    rdma_device=interfaces.rdma_device(bdf),
                )
            )
        return tuple(found)


def _links_to_vfs(pf: Path) -> list[tuple[int, Bdf, str | None]]:
    """Return the VFs below a PF's folder with their drivers, by number: ``virtfn2`` before ``virtfn10``."""
    found = []
    with attributes.OpenFolder(pf) as opened:
        for name in opened.names():
            bdf = attributes.last_part(opened.link(name)) if VF_LINK.fullmatch(name) else None
            if bdf is not None and is_address(bdf):
                driver = attributes.last_part(opened.link(f"{name}/driver"))
                found.append((int(name.removeprefix("virtfn")), Bdf(bdf), driver))
    return sorted(found, key=lambda one: one[0])


def _vf_device_id(pf: Path) -> str | None:
    """Return the device id of all VFs of a PF, None where the kernel does not tell it there (before 4.15)."""
    try:
        return f"{int(attributes.text(pf / 'sriov_vf_device') or '', 16):04x}"
    except ValueError:
        return None


def _virtual_function(pf: PciFunction, bdf: Bdf, device_id: str, driver: str | None) -> PciFunction:
    """Return one VF. What all VFs of a PF have in common with it is not read again for each of them.

    Source: Single Root I/O Virtualization 1.1, 3.4.1: vendor and class code are the PF's. Linux,
            drivers/pci/iov.c: a VF's parent is the PF's, so its place in the tree and its NUMA node are.
    """
    return PciFunction(
        bdf=bdf,
        vendor_id=pf.vendor_id,
        device_id=device_id,
        class_code=pf.class_code,
        numa_node=pf.numa_node,
        path=pf.path,
        driver=driver,
    )


def _addresses_of_vfs(nic: tuple[PhysicalFunction | Unreadable, ...]) -> Iterator[Bdf]:
    for one in nic:
        if isinstance(one, PhysicalFunction):
            yield from (vf.function.bdf for vf in one.vfs)


def _identifier(folder: attributes.AnyPath, bdf: Bdf, name: str) -> str:
    return attributes.required_text(f"{folder}/{name}", f"PCI function {bdf}").removeprefix("0x")


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
