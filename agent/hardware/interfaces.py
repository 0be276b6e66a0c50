"""The network and RDMA devices of PCI functions.

Takes one pass over ``/sys/class/net`` and ``/sys/class/infiniband``; returns answers by PCI address. Only
devices in the reader's network namespace are visible: a VF whose netdev was moved into a pod seems to have
none. So these names never identify a function.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from agent.hardware import attributes, guids
from agent.hardware.attributes import links, names, number, text
from agent.hardware.pcie import ADDRESS
from agent.hardware.reuse import READ_ANEW, Reuse
from agent.hardware.types import Bdf

_UPLINK_PORT: Final = re.compile(r"p\d+(s\d+)?")
_DIGITS: Final = re.compile(r"(\d+)")
LINK_TYPES: Final = {1: "ethernet", 32: "infiniband"}
"""Names of ARPHRD_ETHER and ARPHRD_INFINIBAND of if_arp.h."""

_LINK_LAYERS: Final = {"Ethernet": "ethernet", "InfiniBand": "infiniband"}
"""Of RDMA ports. A third one, ``Unspecified``, is that of EFA: what such a port speaks has no name here."""

_RATE: Final = re.compile(r"(\d+)(?:\.(\d))? Gb/sec\b.*")
ACTIVE_PORT: Final = "4: ACTIVE"
"""What a port's file ``state`` says where programs can use it."""

# Greedy: of several functions on the way the last one is the nearest.
_NEAREST_FUNCTION: Final = re.compile(rf".*/({ADDRESS})((?:/.*)?)")

_DIRECT: Final = 2
"""The depth of ``net/eth0`` or ``infiniband/mlx5_0`` in a function's folder."""

_Rank = tuple[bool, int, int, tuple[str | int, ...]]


class _Device(NamedTuple):
    """A device of a function. Shape: ``depth`` how far below the function its folder is."""

    folder: str
    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class Interfaces:
    """The interfaces at one moment. Shape: the preferred device, by PCI address."""

    netdevs: Mapping[Bdf, _Device]
    rdma_devices: Mapping[Bdf, _Device]

    @classmethod
    def read(cls, sys: Path, reuse: Reuse = READ_ANEW) -> Interfaces:
        """Read both classes below ``sys``. Raises: NoPermission, HardwareFault if one cannot be listed."""
        return cls(_preferred(sys / "class/net", reuse), _preferred(sys / "class/infiniband", reuse))

    @staticmethod
    def netdevs_of(sys: Path, bdf: Bdf) -> tuple[Path, ...]:
        """Return the folders of all network devices of one function, the preferred one first."""
        own = sys / "bus/pci/devices" / bdf / "net"
        if attributes.is_folder(own):
            found = [_Device(f"{own}/{name}", name, 1) for name in names(own)]
        else:
            found = _devices(sys / "class/net").get(bdf, [])
        if len(found) > 1:  # only then files say which is preferred
            found.sort(key=_rank)
        return tuple(Path(device.folder) for device in found)

    @staticmethod
    def function_of(sys: Path, name: str) -> Bdf | None:
        """Return the function that a network device belongs to, None for one without a PCI function."""
        way = _NEAREST_FUNCTION.fullmatch(attributes.link(sys / "class/net" / name) or "")
        return Bdf(way[1]) if way else None

    def netdev(self, bdf: Bdf) -> str | None:
        """Return the network device of a function: the uplink if it has representors too."""
        device = self.netdevs.get(bdf)
        return device.name if device else None

    def rdma_device(self, bdf: Bdf) -> str | None:
        """Return the RDMA device of a function."""
        device = self.rdma_devices.get(bdf)
        return device.name if device else None

    def are_directly_of(self, bdf: Bdf) -> bool:
        """Whether a function itself has such a device, not one further below it, such as one on its USB."""
        found = (self.netdevs.get(bdf), self.rdma_devices.get(bdf))
        return any(device is not None and device.depth == _DIRECT for device in found)

    def link_type(self, bdf: Bdf) -> str | None:
        """Return ``ethernet`` or ``infiniband``, None for another link and if neither device says."""
        if bdf in self.netdevs:
            known = LINK_TYPES.get(number(f"{self.netdevs[bdf].folder}/type") or 0)
            if known:
                return known
        if bdf in self.rdma_devices:
            ports = f"{self.rdma_devices[bdf].folder}/ports"
            layers = (text(f"{ports}/{port}/link_layer") for port in names(ports))
            return next((_LINK_LAYERS.get(layer) for layer in layers if layer), None)
        return None

    def link_speed_mbps(self, bdf: Bdf) -> int | None:
        """Return the present speed of the link, None if it is down or unknown.

        Units: millions of bits per second. While the link is down a netdev reports -1 or EINVAL; an RDMA
               port still reports a rate, so its state is read as well.
        """
        speed = number(f"{self.netdevs[bdf].folder}/speed") if bdf in self.netdevs else None
        if speed is not None and speed > 0:
            return speed
        if bdf not in self.rdma_devices:
            return None
        ports = f"{self.rdma_devices[bdf].folder}/ports"
        active = (port for port in names(ports) if text(f"{ports}/{port}/state") == ACTIVE_PORT)
        rates = (_RATE.fullmatch(text(f"{ports}/{port}/rate") or "") for port in active)
        return next((int(rate[1]) * 1000 + int(rate[2] or 0) * 100 for rate in rates if rate), None)

    def lacks_guid(self, bdf: Bdf) -> bool:
        """Whether the RDMA device of a function is InfiniBand's and has no GUID."""
        return bdf in self.rdma_devices and lacks_guid(self.rdma_devices[bdf].folder)

    def card_guid(self, bdf: Bdf) -> str | None:
        """Return the GUID that all ports of one card share, None without an RDMA device that says it."""
        if bdf not in self.rdma_devices:
            return None
        guid = text(f"{self.rdma_devices[bdf].folder}/sys_image_guid")
        return guid if guids.from_sysfs(guid) != guids.NO_GUID else None


def infiniband_guids(folder: attributes.AnyPath) -> tuple[str | None, str | None]:
    """Return the GUIDs of an RDMA device and of its port, each None if it is unknown or not InfiniBand's.

    Source: InfiniBand Architecture Specification, 4.1.1: the lower half of a port's first GID is its GUID.
    """
    if text(f"{folder}/ports/1/link_layer") != "InfiniBand":
        return None, None
    port = (text(f"{folder}/ports/1/gids/0") or "").split(":")[-4:]
    return guids.from_sysfs(text(f"{folder}/node_guid")), guids.from_sysfs(":".join(port))


def lacks_guid(folder: attributes.AnyPath) -> bool:
    """Whether an RDMA device has an InfiniBand port, and device or port have no GUID: no program can use it.

    So the driver leaves a new VF, until its PF is asked for GUIDs and the VF's driver starts again.
    Source: NVIDIA, SR-IOV with InfiniBand.
    """
    return guids.NO_GUID in infiniband_guids(folder)


def is_software_rdma(folder: attributes.AnyPath) -> bool:
    """Whether an RDMA device was made by software on an interface, in whose function's folder it lies.

    Source: rdma-core, providers/siw and rxe, which matched these names before the kernel reported the driver;
            Linux, drivers/infiniband/sw/rxe, whose devices alone have a file with the interface's name.
    """
    return os.path.basename(folder).startswith(("siw", "rxe")) or attributes.exists(f"{folder}/parent")


def _preferred(folder: Path, reuse: Reuse) -> Mapping[Bdf, _Device]:
    """Return the best device of each function. Only where there are several, files say which.

    The links of a class are its listing: one that is renamed or moved to another namespace and back leads to
    the same function.
    """
    evidence = reuse.evidence((folder,))
    single, several = reuse.read(f"links in {folder}", evidence, lambda: _by_number(folder))
    if not several:
        return single
    best = {bdf: min(devices, key=_rank) for bdf, devices in several.items()}
    return reuse.made(f"devices in {folder}", (single, best), lambda: {**single, **best})


def _by_number(folder: Path) -> tuple[Mapping[Bdf, _Device], Mapping[Bdf, list[_Device]]]:
    """Return the device of each function that has one, and those of each function that has several."""
    found = _devices(folder).items()
    single = {bdf: devices[0] for bdf, devices in found if len(devices) == 1}
    return single, {bdf: devices for bdf, devices in found if len(devices) > 1}


def _devices(folder: Path) -> Mapping[Bdf, list[_Device]]:
    """Return the devices of each function.

    ``<bdf>/net/`` would be shorter, but virtio and sub-function netdevs are not listed there.
    """
    found: defaultdict[Bdf, list[_Device]] = defaultdict(list)
    is_rdma = folder.name == "infiniband"
    for name, said in links(folder):
        way = _NEAREST_FUNCTION.fullmatch(said)
        if way and not (is_rdma and is_software_rdma(f"{folder}/{name}")):
            found[Bdf(way[1])].append(_Device(f"{folder}/{name}", name, way[2].count("/")))
    return found


def _rank(device: _Device) -> _Rank:
    """Order uplinks before representors, then by distance to the function, by port and by name.

    In switchdev mode the representors of all VFs belong to the PF, like its uplink; only the port name
    distinguishes them (``pf0vf3``, ``p0``).
    """
    port = text(f"{device.folder}/phys_port_name")
    is_representor = bool(port) and _UPLINK_PORT.fullmatch(port or "") is None
    natural = tuple(int(part) if part.isdecimal() else part for part in _DIGITS.split(device.name))
    return (is_representor, device.depth, number(f"{device.folder}/dev_port") or 0, natural)
