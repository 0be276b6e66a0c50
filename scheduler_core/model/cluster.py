"""A cluster as a value: everything that an allocation depends on, except the node."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import AllocatedClaim, DeviceClass
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Everything that an allocation depends on, except the node.

    Shape: ``pools`` has one pool per (driver, name); ``classes`` by name; ``allocated`` are the claims
           that hold devices, in any order.
    """

    pools: tuple[Pool, ...]
    classes: Mapping[str, DeviceClass]
    allocated: tuple[AllocatedClaim, ...] = ()
    features: Features = ALL

    def pools_seen_from(self, node: Node) -> tuple[Pool, ...]:
        """Return every pool as the node sees it under the features. Shape: by driver and name."""
        seen = (pool.with_features(self.features).as_seen_from(node) for pool in self.pools)
        return tuple(sorted(seen, key=lambda pool: pool.id))
