"""PCI functions and NICs, read from sysfs.

Takes a root folder; returns values. A device that disappears while it is read is left out; one that exists
but cannot be read is an ``Unreadable``. Neither affects other devices. This module never writes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from agent.hardware import attributes
from agent.hardware.errors import HardwareError, NotFound
from agent.hardware.interfaces import Interfaces
from agent.hardware.pcie import CONFIG_BYTES, Chain, is_address, is_upstream_port, pcie_path
from agent.hardware.reuse import READ_ANEW, Evidence, Reuse
from agent.hardware.types import (
    Bdf,
    PciePath,
    PciFunction,
    PhysicalFunction,
    Unreadable,
)
from agent.hardware.vfs.links import VirtualFunctions, folders_of_drivers, virtual_functions
from agent.hardware.vital_product_data import SERIAL, product_data

_NVIDIA: Final = "10de"
_GPU_CLASSES: Final = ("0300", "0302")  # VGA and 3D controllers
_NIC_CLASSES: Final = ("0200", "0207", "0280")  # Ethernet, InfiniBand and other network controllers

# On HGX B200 and B300 boards a ConnectX-7 bridge manages the NVLink switches. It is no network card, and its
# vital product data has this mark.
_SWITCH_MANAGEMENT: Final = ("15b3", "1021", b"SW_MNG")
_VITAL_PRODUCT_DATA_BYTES: Final = 32768


@dataclass(frozen=True, slots=True)
class Sysfs:
    """The sysfs below ``root``: the ``PciReader`` of real and of simulated machines."""

    root: Path = Path("/")
    reuse: Reuse = READ_ANEW

    def reusing(self, reuse: Reuse) -> Self:
        """Return this reader, which reads VFs anew only where ``reuse`` says so."""
        return replace(self, reuse=reuse)

    def addresses(self, besides: Collection[Bdf] = ()) -> tuple[Bdf, ...]:
        """Return the address of every PCI function, sorted, without some; empty on a machine without PCI.

        Raises: NoPermission, HardwareFault if the list cannot be read.
        """
        evidence = self.reuse.evidence((self._functions,))
        found = self.reuse.read("addresses", evidence, lambda: _addresses(attributes.names(self._functions)))
        return tuple([bdf for bdf in found if bdf not in besides]) if besides else found

    def function(self, bdf: Bdf) -> PciFunction:
        """Return one function with its PCIe path and NUMA node.

        Raises: NotFound if it does not exist; NoPermission, HardwareFault if it cannot be read.
        """
        return self._function(bdf, self._folder(bdf))

    def chain(self, bdf: Bdf) -> Chain:
        """Return every bridge above a function. Raises: NotFound."""
        return _chain(self._folder(bdf))

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
        interfaces = Interfaces.read(self._sys, self.reuse)
        drivers = self.reuse.evidence(folders_of_drivers(self._sys))
        found: list[PhysicalFunction | Unreadable] = []
        vfs = set[Bdf]()
        for bdf in self.addresses():
            if bdf in vfs:  # a VF's address is always above its PF's
                continue
            try:
                if nic := self._nic(bdf, interfaces, drivers):
                    pf, of_pf = nic
                    found.extend((pf, *of_pf.unreadable))
                    vfs |= of_pf.addresses
            except HardwareError as error:
                if self._is_there(bdf):
                    found.append(Unreadable(f"PCI function {bdf}", str(error), bdf=bdf))
        return tuple(found)

    @property
    def _sys(self) -> Path:
        return self.root / "sys"

    @property
    def _functions(self) -> str:
        return os.path.join(self.root, "sys/bus/pci/devices")  # a text: faster to extend than a Path

    def _is_there(self, bdf: Bdf) -> bool:
        return attributes.is_folder(f"{self._functions}/{bdf}")

    def _folder(self, bdf: Bdf) -> str:
        link = f"{self._functions}/{bdf}"
        if not attributes.is_folder(link):
            raise NotFound("read", f"PCI function {bdf}", f"{link} does not exist")
        return attributes.target(link)

    def _function(self, bdf: Bdf, folder: str, class_code: str = "") -> PciFunction:
        node = attributes.number(f"{folder}/numa_node")
        return PciFunction(
            bdf=bdf,
            vendor_id=_identifier(folder, bdf, "vendor"),
            device_id=_identifier(folder, bdf, "device"),
            class_code=class_code or _identifier(folder, bdf, "class"),
            numa_node=node if node is not None and node >= 0 else None,
            path=_path(folder),
            driver=attributes.link_name(f"{folder}/driver"),
        )

    def _is_gpu(self, bdf: Bdf) -> bool:
        folder = f"{self._functions}/{bdf}"
        if _identifier(folder, bdf, "vendor") != _NVIDIA:
            return False
        is_class = _identifier(folder, bdf, "class").startswith(_GPU_CLASSES)
        return is_class and not os.path.islink(f"{folder}/physfn")

    def _nic(
        self, bdf: Bdf, interfaces: Interfaces, drivers: Evidence
    ) -> tuple[PhysicalFunction, VirtualFunctions] | None:
        """Return a NIC with its VFs, None for what is not a NIC, or a VF.

        A card of any other class (Omni-Path has 0208, eRDMA 00ff) is one if a driver made it one.
        """
        link = f"{self._functions}/{bdf}"
        class_code = _identifier(link, bdf, "class")
        is_nic = class_code.startswith(_NIC_CLASSES) or interfaces.are_directly_of(bdf)
        if not is_nic or os.path.islink(f"{link}/physfn"):
            return None
        folder = self._folder(bdf)
        function = self._function(bdf, folder, class_code)
        if _is_switch_management(function, folder):
            return None
        vfs = virtual_functions(folder, function, interfaces, drivers, self.reuse)
        pf = PhysicalFunction(
            function=function,
            netdev=interfaces.netdev(bdf),
            rdma_device=interfaces.rdma_device(bdf),
            link_type=interfaces.link_type(bdf),
            link_speed_mbps=interfaces.link_speed_mbps(bdf),
            card_id=self._card_id(bdf, interfaces),
            total_vfs=attributes.number(f"{folder}/sriov_totalvfs") or 0,
            vfs=vfs.readable,
        )
        return pf, vfs

    def _card_id(self, bdf: Bdf, interfaces: Interfaces) -> str:
        """Return what all ports of one card share: its GUID, else its serial number, else its slot."""
        return interfaces.card_guid(bdf) or product_data(self.root, bdf).get(SERIAL) or bdf.rpartition(".")[0]


def _addresses(names: Iterable[str]) -> tuple[Bdf, ...]:
    # The names are sorted; what is left is that longer domains are higher.
    return tuple(sorted((Bdf(name) for name in names if is_address(name)), key=len))


def _identifier(folder: attributes.AnyPath, bdf: Bdf, name: str) -> str:
    return attributes.required_text(f"{folder}/{name}", f"PCI function {bdf}").removeprefix("0x")


def _chain(folder: str) -> Chain:
    return Chain.of(folder.split("/"))


def _path(folder: str) -> PciePath:
    def is_upstream(bridge: Bdf) -> bool | None:
        above = folder[: folder.rindex(f"/{bridge}/")]
        return is_upstream_port(attributes.head(f"{above}/{bridge}/config", CONFIG_BYTES))

    return pcie_path(_chain(folder), is_upstream)


def _is_switch_management(function: PciFunction, folder: str) -> bool:
    vendor, device, mark = _SWITCH_MANAGEMENT
    if (function.vendor_id, function.device_id) != (vendor, device):
        return False
    return mark in attributes.head(f"{folder}/vpd", _VITAL_PRODUCT_DATA_BYTES)
