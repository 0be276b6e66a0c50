"""NICs and their VFs as composite devices.

A physical function has one slot for each VF that it may ever have, and a VF draws one slot: another number of
VFs changes no counter. The whole NIC draws all slots, so counting alone keeps it apart from its VFs. A NIC
without VFs is a plain device. A NIC that is withheld stays as the source of its VFs and can be allocated on
no node.

With a rate for VFs the NIC also supplies bandwidth, and each VF draws its part.

VFs on demand have the same names, slots, draws and modes whether they exist or not, so making them changes
what people can select by (address, device id) and never what is counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agent.hardware.types import PhysicalFunction
from agent.inventory.judgement import modes_of, why_no_interface
from agent.inventory.model import Group, Inventory
from agent.inventory.names import nic_name, vf_name
from agent.inventory.nic_facts import FunctionFacts
from agent.inventory.published import NicVf, PublishedDevice
from agent.inventory.topology import address_attribute, direct_attribute, topology_attributes
from agent.inventory.vfs.multus import multus_attributes
from agent.inventory.vfs.rules import VfRate
from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.configuration.values import VfMode
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import NOWHERE

_MOST_VFS: Final = 65535
"""Source: PCI Express Base Specification, TotalVFs has 16 bits."""


class NicDescriber:
    """Describes the NICs of one node; collects the mixins that they share."""

    def __init__(self, driver: str) -> None:
        self.driver = driver
        self.shared: dict[str, Mixin] = {}
        self.by_name: dict[DeviceName, PublishedDevice] = {}

    def describe(self, inventory: Inventory) -> list[Group]:
        """Return each NIC with its VFs, by address; those whose own device is withheld come last.

        So they need one slice of their own at most, and claims get VFs of the node's own NIC last.
        """
        withheld = frozenset(one.device for one in inventory.withheld)
        nics = sorted(inventory.nics, key=lambda pf: nic_name(pf.function.bdf) in withheld)
        return [group for pf in nics if (group := self._nic(inventory, pf, withheld)).devices]

    def _nic(self, inventory: Inventory, pf: PhysicalFunction, withheld: frozenset[DeviceName]) -> Group:
        """Return a NIC and its VFs, nothing where all of them are withheld."""
        name = nic_name(pf.function.bdf)
        every = offered_vfs(inventory, pf)
        whole = self._whole(inventory, pf, len(every))
        is_offered = name not in withheld
        if is_offered:
            self.by_name[name] = inventory.nic(pf)
        vfs = [self._vf(inventory, vf) for vf in every if vf_name(pf.function.bdf, vf.index) not in withheld]
        if not is_offered and not vfs:
            return Group(mixins=(), devices=())
        common = Mixin(name=name, attributes=self._common(inventory, pf))
        return Group(mixins=(common,), devices=(whole if is_offered else replace(whole, nodes=NOWHERE), *vfs))

    def _whole(self, inventory: Inventory, pf: PhysicalFunction, vfs: int) -> CompositeDevice:
        name, nic = nic_name(pf.function.bdf), inventory.nic(pf)
        own: dict[str, AttributeValue | None] = {
            "type": "nic",
            "deviceID": pf.function.device_id,
            "rdmaCapable": nic.gives_rdma,
            "netdevCapable": why_no_interface(nic) is None,
        }
        rate = _rate_of(inventory, pf)
        return CompositeDevice(
            name=name,
            includes=(name,),
            attributes=self._own(own) | dict(address_attribute(pf.function)),
            capacity=self._supplied(_slots(pf, vfs), rate.nic if rate is not None else None) if vfs else {},
        )

    def _vf(self, inventory: Inventory, published: NicVf) -> CompositeDevice:
        pf, function = published.pf, published.vf.function if published.vf else None
        name = vf_name(pf.function.bdf, published.index)
        self.by_name[name] = published
        # Once it exists, one on demand has as its own what the others have from their mixin.
        own: dict[str, AttributeValue | None] = {"vfIndex": published.index}
        if function is not None and published.on_demand is not None:
            own["deviceID"] = function.device_id
        multus = multus_attributes(inventory.multus_resource, function.bdf) if function is not None else {}
        return CompositeDevice(
            name=name,
            includes=(nic_name(pf.function.bdf), self._share_kind(published)),
            sources=(nic_name(pf.function.bdf),),
            attributes=self._own(own)
            | dict(address_attribute(function))
            | dict(multus)
            | dict(inventory.attributes.of_vf(pf.function.bdf, published.index)),
        )

    def _share_kind(self, published: NicVf) -> str:
        """Return the name of the mixin that all VFs of one device id and the same modes share.

        Of VFs on demand it is the same before and after they are made, so it has no device id.
        """
        modes = modes_of(published)
        is_lasting = published.vf is not None and published.on_demand is None
        device_id = published.vf.function.device_id if published.vf is not None and is_lasting else None
        is_rdma, is_vfio, is_netdev = (mode in modes for mode in (VfMode.RDMA, VfMode.VFIO, VfMode.NETDEV))
        marks = (
            "-rdma" if is_rdma else "",
            "" if is_vfio else "-no-vfio",
            "" if is_netdev else "-no-netdev",
        )
        vendor_id = published.pf.function.vendor_id
        rate = published.bandwidth
        name = f"vf-{vendor_id}-{device_id or 'on-demand'}{''.join(marks)}{f'-{rate}m' if rate else ''}"
        own: dict[str, AttributeValue | None] = {
            "type": "vf",
            "deviceID": device_id,
            "rdmaCapable": is_rdma,
            "vfioCapable": is_vfio,
            "netdevCapable": is_netdev,
        }
        self.shared[name] = Mixin(name=name, attributes=self._own(own), capacity=self._supplied(1, rate))
        return name

    def _supplied(self, slots: int, bandwidth: int | None) -> dict[QualifiedName, Quantity]:
        """Return what a NIC supplies or a VF draws. Units: ``bandwidth`` Mbit/s, None if unlimited."""
        counted = {"vfSlots": slots} | ({"bandwidth": bandwidth} if bandwidth is not None else {})
        return {self._key(key): Quantity.of(amount) for key, amount in counted.items()}

    def _common(self, inventory: Inventory, pf: PhysicalFunction) -> dict[QualifiedName, AttributeValue]:
        facts = inventory.facts_of(pf.function.bdf)
        direct = facts.data_direct
        found: dict[str, AttributeValue | None] = {
            "vendorID": pf.function.vendor_id,
            "linkType": pf.link_type,
            "linkSpeedMbps": pf.link_speed_mbps,
            "cardID": pf.card_id,
            "pfPciAddress": str(pf.function.bdf),
            "eswitchMode": facts.eswitch_mode,
            "dataDirectPciAddress": str(direct.bdf) if direct is not None else None,
        }
        place = topology_attributes(pf.function, self.driver)
        stated = dict(inventory.attributes.of_nic(pf.function.bdf))
        return self._own(found) | place | dict(direct_attribute(direct, self.driver)) | stated

    def _own(self, values: dict[str, AttributeValue | None]) -> dict[QualifiedName, AttributeValue]:
        """Return attributes under their full names, without those that are unknown."""
        return {self._key(key): value for key, value in values.items() if value is not None}

    def _key(self, key: str) -> QualifiedName:
        return qualified(key, self.driver)


def _slots(pf: PhysicalFunction, vfs: int) -> int:
    """Return how many VFs a NIC may have, at least those that it has."""
    return pf.total_vfs if vfs <= pf.total_vfs <= _MOST_VFS else vfs


def offered_vfs(inventory: Inventory, pf: PhysicalFunction) -> tuple[NicVf, ...]:
    """Return the VFs of a NIC by index.

    Another number than the rule's, from somebody else or from a driver that made fewer, is what is offered.
    """
    rate, offer = _rate_of(inventory, pf), inventory.offer_of(pf.function.bdf)
    bandwidth = rate.vf if rate else None
    return tuple(
        replace(one, bandwidth=bandwidth, allowed=offer.of_vf(one.index)) for one in _vfs(inventory, pf)
    )


def _rate_of(inventory: Inventory, pf: PhysicalFunction) -> VfRate | None:
    return inventory.vfs.rate_of(pf) if inventory.vfs is not None else None


def _vfs(inventory: Inventory, pf: PhysicalFunction) -> tuple[NicVf, ...]:
    count = inventory.vfs.on_demand_of(pf) if inventory.vfs is not None else None
    if count is None:
        return tuple(NicVf(pf, vf.index, vf, None, inventory.facts_of(vf.function.bdf)) for vf in pf.vfs)
    facts = _foreseen(inventory.facts_of(pf.function.bdf))
    if not pf.vfs:
        return tuple(NicVf(pf, index, None, count, facts) for index in range(count))
    return tuple(NicVf(pf, vf.index, vf, count, facts) for vf in pf.vfs)


def _foreseen(nic: FunctionFacts) -> FunctionFacts:
    """Return what of a NIC's facts will be true of its VFs. Who their neighbours are is seen at prepare."""
    group = None if nic.group is None else replace(nic.group, members=())
    return replace(nic, way_to_route=(), group=group, claimable=(), eswitch_mode=None)
