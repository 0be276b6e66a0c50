"""The network and RDMA devices of PCI functions.

Takes one pass over ``/sys/class/net`` and ``/sys/class/infiniband``; returns answers by PCI address. Only
devices in the reader's network namespace are visible: a VF whose netdev was moved into a pod seems to have
none. So these names never identify a function.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.attributes import names, number, resolved, text
from agent.hardware.pcie import is_address
from agent.hardware.types import Bdf

_UPLINK_PORT: Final = re.compile(r"p\d+(s\d+)?")
_DIGITS: Final = re.compile(r"(\d+)")
LINK_TYPES: Final = {1: "ethernet", 32: "infiniband"}
"""Names of ARPHRD_ETHER and ARPHRD_INFINIBAND of if_arp.h."""

_RATE: Final = re.compile(r"(\d+)(?:\.(\d))? Gb/sec .*")
_ACTIVE: Final = "4: ACTIVE"
_NO_GUID: Final = "0000:0000:0000:0000"

_Rank = tuple[bool, int, int, tuple[str | int, ...]]


@dataclass(frozen=True, slots=True)
class Interfaces:
    """The interfaces at one moment. Shape: the folder of the preferred device, by PCI address."""

    netdevs: Mapping[Bdf, Path]
    rdma_devices: Mapping[Bdf, Path]

    @classmethod
    def read(cls, sys: Path) -> Interfaces:
        """Read both classes below ``sys``. Raises: NoPermission, HardwareFault if one cannot be listed."""
        return cls(_preferred(sys / "class/net"), _preferred(sys / "class/infiniband"))

    @staticmethod
    def netdevs_of(sys: Path, bdf: Bdf) -> tuple[Path, ...]:
        """Return the folders of all network devices of one function, the preferred one first."""
        own = sys / "bus/pci/devices" / bdf / "net"
        if attributes.is_folder(own):
            return tuple(sorted((own / name for name in names(own)), key=lambda device: _rank(device, 1)))
        return tuple(device for _, device in sorted(_ranked(sys / "class/net").get(bdf, ())))

    @staticmethod
    def function_of(sys: Path, name: str) -> Bdf | None:
        """Return the function that a network device belongs to, None for one without a PCI function."""
        return _function(resolved(sys / "class/net" / name))[0]

    def netdev(self, bdf: Bdf) -> str | None:
        """Return the network device of a function: the uplink if it has representors too."""
        folder = self.netdevs.get(bdf)
        return folder.name if folder else None

    def rdma_device(self, bdf: Bdf) -> str | None:
        """Return the RDMA device of a function."""
        folder = self.rdma_devices.get(bdf)
        return folder.name if folder else None

    def link_type(self, bdf: Bdf) -> str | None:
        """Return ``ethernet`` or ``infiniband``, None if neither device says."""
        if bdf in self.netdevs:
            known = LINK_TYPES.get(number(self.netdevs[bdf] / "type") or 0)
            if known:
                return known
        if bdf in self.rdma_devices:
            ports = self.rdma_devices[bdf] / "ports"
            layers = (text(ports / port / "link_layer") for port in names(ports))
            return next((layer.lower() for layer in layers if layer), None)
        return None

    def link_speed_mbps(self, bdf: Bdf) -> int | None:
        """Return the present speed of the link, None if it is down or unknown.

        Units: millions of bits per second. While the link is down a netdev reports -1 or EINVAL; an RDMA
               port still reports a rate, so its state is read as well.
        """
        speed = number(self.netdevs[bdf] / "speed") if bdf in self.netdevs else None
        if speed is not None and speed > 0:
            return speed
        if bdf not in self.rdma_devices:
            return None
        ports = self.rdma_devices[bdf] / "ports"
        active = (port for port in names(ports) if text(ports / port / "state") == _ACTIVE)
        rates = (_RATE.fullmatch(text(ports / port / "rate") or "") for port in active)
        return next((int(rate[1]) * 1000 + int(rate[2] or 0) * 100 for rate in rates if rate), None)

    def card_guid(self, bdf: Bdf) -> str | None:
        """Return the GUID that all ports of one card share, None without an RDMA device that says it."""
        if bdf not in self.rdma_devices:
            return None
        guid = text(self.rdma_devices[bdf] / "sys_image_guid")
        return guid if guid != _NO_GUID else None


def _preferred(folder: Path) -> Mapping[Bdf, Path]:
    """Return the best device of each function."""
    return {bdf: min(devices)[1] for bdf, devices in _ranked(folder).items()}


def _ranked(folder: Path) -> Mapping[Bdf, list[tuple[_Rank, Path]]]:
    """Return the devices of each function with their ranks.

    ``<bdf>/net/`` would be shorter, but virtio and sub-function netdevs are not listed there.
    """
    found: defaultdict[Bdf, list[tuple[_Rank, Path]]] = defaultdict(list)
    for name in names(folder):
        device = resolved(folder / name)
        bdf, depth = _function(device)
        if bdf is not None:
            found[bdf].append((_rank(device, depth), device))
    return found


def _function(device: Path) -> tuple[Bdf | None, int]:
    """Return the nearest function above a device's folder, and how far above it is."""
    above = enumerate(device.parts[::-1])
    return next(((Bdf(part), depth) for depth, part in above if is_address(part)), (None, 0))


def _rank(device: Path, depth: int) -> _Rank:
    """Order uplinks before representors, then by distance to the function, by port and by name.

    In switchdev mode the representors of all VFs belong to the PF, like its uplink; only the port name
    distinguishes them (``pf0vf3``, ``p0``).
    """
    port = text(device / "phys_port_name")
    is_representor = bool(port) and _UPLINK_PORT.fullmatch(port or "") is None
    natural = tuple(int(part) if part.isdecimal() else part for part in _DIGITS.split(device.name))
    return (is_representor, depth, number(device / "dev_port") or 0, natural)
