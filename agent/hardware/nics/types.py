"""NICs as plain values: counts, drivers, device nodes, interfaces, settings of VFs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agent.hardware.guids import NO_GUID
from agent.hardware.types import Bdf, DeviceNode

VFIO_PCI: Final = "vfio-pci"
"""The driver that gives a function to a user-space program."""

_HARMLESS_DRIVERS: Final = ("pci-stub", "pcieport")
_OF_OTHERS: Final = ("vfio", "uio_pci", "_uio", "pci-stub")
"""Parts of the names of drivers that keep a function for somebody outside the kernel."""

GUID_SETTER: Final = "mlx5_core"
"""The driver whose PFs set GUIDs for their InfiniBand VFs. With mlx4 the subnet manager gives them.

Source: Linux, drivers/infiniband: ``set_vf_guid`` of mlx5's ``ib_device_ops`` is the only one.
"""

_RDMA_ALONE: Final = ("efa", "erdma")
"""Drivers that make RDMA devices and no interface: the card's Ethernet is another PCI function."""


def makes_interfaces(driver: str | None) -> bool:
    """Whether a function of a NIC that has this driver has a network interface, in whatever namespace."""
    if driver is None or driver in _RDMA_ALONE:
        return False
    return not any(part in driver for part in _OF_OTHERS)


@dataclass(frozen=True, slots=True)
class VfCount:
    """How many VFs a PF has and can have. Shape: ``most`` is 0 without SR-IOV."""

    present: int
    most: int


@dataclass(frozen=True, slots=True)
class DriverBinding:
    """The driver of a function. Shape: each None if there is none; ``override`` decides the next probe."""

    driver: str | None
    override: str | None = None


@dataclass(frozen=True, slots=True)
class RdmaDevice:
    """An RDMA device of a function and its character devices.

    Shape: the GUIDs of it and of its port are None if they are unknown or not InfiniBand's;
           ``verbs`` None while the driver has not made it yet; ``management`` are umad and ``subnet`` issm
           nodes, one per port; ``connection_manager`` is shared by all RDMA devices of the host.
    """

    name: str
    verbs: DeviceNode | None
    management: tuple[DeviceNode, ...] = ()
    subnet: tuple[DeviceNode, ...] = ()
    connection_manager: DeviceNode | None = None
    node_guid: str | None = None
    port_guid: str | None = None

    @property
    def has_guid(self) -> bool:
        """Whether it has its GUIDs; that of a new InfiniBand VF has none."""
        return NO_GUID not in (self.node_guid, self.port_guid)


@dataclass(frozen=True, slots=True)
class IommuMember:
    """A function of an IOMMU group. Shape: ``driver`` None if it has none."""

    bdf: Bdf
    driver: str | None

    @property
    def is_harmless(self) -> bool:
        """Whether its driver leaves the group to user space: VFIO's, a stub's or a bridge's.

        Source: Linux, drivers that set ``driver_managed_dma``.
        """
        driver = self.driver
        return driver is None or driver in _HARMLESS_DRIVERS or "vfio" in driver


@dataclass(frozen=True, slots=True)
class IommuGroup:
    """The functions that VFIO can only give away together.

    Shape: ``kind`` such as ``DMA-FQ``, None if it is unknown or was not asked for; ``has_iommu``
           is false in VFIO's no-IOMMU mode; ``members`` by address.
    """

    number: int
    kind: str | None
    members: tuple[IommuMember, ...]
    has_iommu: bool = True

    def blockers(self, *given: Bdf) -> tuple[IommuMember, ...]:
        """Return the members beside ``given`` whose host drivers keep the group from user space."""
        return tuple(each for each in self.members if each.bdf not in given and not each.is_harmless)


@dataclass(frozen=True, slots=True)
class VfioNodes:
    """The nodes for a function on a VFIO driver.

    Shape: ``iommufd`` is ``/dev/iommu`` and the function's own node, None if the host has none of them.
    """

    container: DeviceNode
    group: DeviceNode
    iommufd: tuple[DeviceNode, DeviceNode] | None = None


@dataclass(frozen=True, slots=True)
class NetInterface:
    """A network interface that the reader's network namespace has.

    Shape: ``mac`` has 6 bytes, 20 with IP over InfiniBand; ``link_type`` ``ethernet``, ``infiniband`` or
           None; ``state`` such as ``up`` or ``down``. Units: ``mtu`` bytes.
    """

    name: str
    index: int
    mac: str
    mtu: int
    state: str
    link_type: str | None


class LinkState(StrEnum):
    """The link that a PF shows its VF."""

    AUTO = "auto"
    ENABLE = "enable"
    DISABLE = "disable"


@dataclass(frozen=True, slots=True, kw_only=True)
class VfSettings:
    """What a PF sets for one of its VFs: complete when read, partial when written.

    Shape: None means unknown when read (the driver does not say) and "leave it" when written; ``vlan`` 0
           is no VLAN; the GUIDs, of InfiniBand alone, are ``NO_GUID`` if the PF set none; the VF's driver
           reads them when it starts. Units: rates are millions of bits per second, 0 for no limit.
    """

    mac: str | None = None
    vlan: int | None = None
    qos: int | None = None
    min_rate: int | None = None
    max_rate: int | None = None
    spoof_check: bool | None = None
    trust: bool | None = None
    link_state: LinkState | None = None
    node_guid: str | None = None
    port_guid: str | None = None
