"""What the host saw of NICs' links, for as long as pods have their interfaces.

Takes one inventory after the other; returns each with what an absent interface would tell: its name, the type
and speed of the link. So what is published does not follow what claims do. A program that starts anew while a
pod has an interface learns this when it is back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agent.hardware.types import Bdf, PhysicalFunction
from agent.inventory.model import Inventory


class LinksSeen:
    """The NICs whose interfaces were seen, each as it was then."""

    def __init__(self) -> None:
        self._seen: Mapping[Bdf, PhysicalFunction] = {}

    def completed(self, inventory: Inventory) -> Inventory:
        """Return an inventory with what was seen of interfaces that the host does not have now."""
        nics = tuple(self._completed(pf) for pf in inventory.nics)
        self._seen = {pf.function.bdf: pf for pf in nics if pf.netdev is not None}
        return replace(inventory, nics=nics)

    def _completed(self, pf: PhysicalFunction) -> PhysicalFunction:
        seen = self._seen.get(pf.function.bdf)
        if pf.netdev is not None or seen is None or seen.function.driver != pf.function.driver:
            return pf
        return replace(
            pf,
            netdev=seen.netdev,
            link_type=pf.link_type or seen.link_type,
            link_speed_mbps=pf.link_speed_mbps or seen.link_speed_mbps,
        )
