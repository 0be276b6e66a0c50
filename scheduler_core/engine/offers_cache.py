"""Offers cache: the pools that a node sees, as they were published, and the devices that they offer.

The plain search and the explanations read flat devices, not tables. Restoring devices from tables takes
longer than most answers, so the result is kept for the last few nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final

from scheduler_core.base.features import Features
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.search.candidates import Offer, offers
from scheduler_core.state.node_views import Kept, restored

_NODES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class PublishedNode:
    """What one node sees.

    Shape: ``pools`` ordered by driver and name; ``offers`` the devices that the node may use, in the order
           in which a search tries them.
    """

    pools: tuple[Pool, ...]
    offers: tuple[Offer, ...]


class OffersCache:
    """What the nodes see that were asked about last."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._known: dict[str, tuple[Node, Sequence[Kept], PublishedNode]] = {}

    def seen_from(self, node: Node, kept: Sequence[Kept]) -> PublishedNode:
        """Return what a node sees. Shape: ``kept`` are the pools that concern it, by driver and name."""
        known = self._known.get(node.name)
        if known is not None:
            about, before, found = known
            if len(before) == len(kept) and all(map(is_, before, kept)) and about == node:
                return found
        pools = tuple(restored(pool).as_seen_from(node) for pool in kept)
        found = PublishedNode(pools, offers(pools, node, self._features))
        if len(self._known) >= _NODES:
            self._known.clear()
        self._known[node.name] = (node, kept, found)
        return found
