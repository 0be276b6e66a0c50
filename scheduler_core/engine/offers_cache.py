"""What nodes see, as it was published: for those who must look at devices, not at tables.

Making devices of tables takes longer than most answers; of a few nodes the result is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Final

from scheduler_core.base.features import Features
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.search.candidates import Offer, offers
from scheduler_core.state.node_views import Kept, restored

_NODES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class PublishedNode:
    """Shape: ``pools`` by driver and name, as the node sees them; ``offers`` its usable devices."""

    pools: tuple[Pool, ...]
    offers: tuple[Offer, ...]


class OffersCache:
    """The publications of the nodes that were looked at last."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._known: dict[str, tuple[Node, Sequence[Kept], PublishedNode]] = {}

    def seen_from(self, node: Node, kept: Sequence[Kept]) -> PublishedNode:
        """Return what a node sees of the pools that concern it, which are in order."""
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
