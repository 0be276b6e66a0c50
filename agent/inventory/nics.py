"""NICs and their VFs as composite devices.

A physical function has one slot for each of its VFs, and a VF draws one slot. The whole NIC draws all of
them, so counting alone keeps it apart from its VFs. A NIC without VFs is a plain device.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.hardware.types import PhysicalFunction
from agent.inventory.model import Group, NicVf, PublishedDevice, WholeNic
from agent.inventory.names import nic_name, vf_name
from agent.inventory.offered_vfs import kind_of, offered_vfs
from agent.inventory.topology import address_attribute, topology_attributes
from agent.inventory.vf_rules import VfRules
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName
from scheduler_core.model.names import qualified


class NicDescriber:
    """Describes the NICs of one node; collects the mixins that they share."""

    def __init__(self, driver: str, rules: VfRules | None = None) -> None:
        self.driver = driver
        self._rules = rules
        self.shared: dict[str, Mixin] = {}
        self.by_name: dict[DeviceName, PublishedDevice] = {}

    def describe(self, pf: PhysicalFunction) -> Group:
        """Return the NIC and its VFs."""
        name, vfs = nic_name(pf.function.bdf), offered_vfs(pf, self._rules)
        common = Mixin(name=name, attributes=self._common(pf))
        whole = CompositeDevice(
            name=name,
            includes=(name,),
            attributes=self._own(
                {
                    "type": "nic",
                    "deviceID": pf.function.device_id,
                    "rdmaCapable": pf.rdma_device is not None,
                }
            )
            | dict(address_attribute(pf.function)),
            capacity={self._key("vfSlots"): Quantity.of(len(vfs))} if vfs else {},
        )
        self.by_name[name] = WholeNic(pf)
        return Group(mixins=(common,), devices=(whole, *map(self._vf, vfs)))

    def _vf(self, published: NicVf) -> CompositeDevice:
        nic = published.pf.function.bdf
        name = vf_name(nic, published.index)
        self.by_name[name] = published
        kind, own = kind_of(published)
        function = published.vf.function if published.vf else None
        return CompositeDevice(
            name=name,
            includes=(nic_name(nic), self._share_kind(published, kind)),
            sources=(nic_name(nic),),
            attributes=self._own({"vfIndex": published.index, **own}) | dict(address_attribute(function)),
        )

    def _share_kind(self, published: NicVf, kind: Mapping[str, str]) -> str:
        """Return the name of the mixin that all VFs of one kind share."""
        is_rdma = published.has_rdma
        ids = kind.get("deviceID", "on-demand")
        name = f"vf-{published.pf.function.vendor_id}-{ids}" + ("-rdma" if is_rdma else "")
        attributes = self._own({"type": "vf", **kind, "rdmaCapable": is_rdma})
        self.shared[name] = Mixin(
            name=name, attributes=attributes, capacity={self._key("vfSlots"): Quantity.of(1)}
        )
        return name

    def _common(self, pf: PhysicalFunction) -> dict[QualifiedName, AttributeValue]:
        found: dict[str, AttributeValue | None] = {
            "vendorID": pf.function.vendor_id,
            "linkType": pf.link_type,
            "linkSpeedMbps": pf.link_speed_mbps,
            "cardID": pf.card_id,
            "pfPciAddress": str(pf.function.bdf),
        }
        known = {key: value for key, value in found.items() if value is not None}
        return self._own(known) | topology_attributes(pf.function, self.driver)

    def _own(self, values: dict[str, AttributeValue]) -> dict[QualifiedName, AttributeValue]:
        return {self._key(key): value for key, value in values.items()}

    def _key(self, key: str) -> QualifiedName:
        return qualified(key, self.driver)
