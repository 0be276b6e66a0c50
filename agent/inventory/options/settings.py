"""PURE: what a node offers of its hardware, because its options or its policy say so.

Agent, plugin and commands put these settings on an inventory in the same way, so they name the same devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent.hardware.types import Bdf
from agent.inventory.model import Inventory, LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.operator_attributes import NO_ATTRIBUTES, OperatorAttributes
from agent.inventory.options.stated_topology import placed_as_stated
from agent.inventory.topology import StatedPlace
from agent.inventory.vfs.offer import NicOffer
from agent.inventory.vfs.rules import VfRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one node.

    Shape: ``linked`` its table of partitions, ``split`` the GPUs whose GPU instances claims may share,
           ``vfs`` how many VFs its NICs shall have, None without any; ``modes`` in which the GPUs are
           offered; ``imex_channels`` how many are offered; ``multus_resource`` the name under which Multus
           finds VFs, None where it does not; ``offers`` what of NICs is offered, by address, of others all;
           ``attributes`` what the operator says of devices, ``places`` of their place in the topology.
    """

    linked: LinkedGpus | None = None
    modes: GpuModes = field(default_factory=GpuModes)
    split: SplitGpus | None = None
    imex_channels: int = 0
    vfs: VfRules | None = None
    multus_resource: str | None = None
    offers: Mapping[Bdf, NicOffer] = field(default_factory=dict)
    attributes: OperatorAttributes = NO_ATTRIBUTES
    places: Mapping[Bdf, StatedPlace] = field(default_factory=dict)

    def on(self, inventory: Inventory) -> Inventory:
        """Return an inventory with these settings."""
        return replace(
            placed_as_stated(inventory, self.places),
            linked=self.linked,
            modes=self.modes,
            split=self.split,
            imex_channels=self.imex_channels,
            vfs=self.vfs,
            multus_resource=self.multus_resource,
            offers=self.offers,
            attributes=self.attributes,
        )
