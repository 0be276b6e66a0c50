"""What is asked of the allocator: claims, the nodes asked about, and everything that is known besides."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from tangram.allocation_input import AllocationInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Claims and where they may go.

    Shape: ``nodes`` are those asked about, in the order of trying; ``known`` are all nodes of ``cluster``.
    """

    claims: Sequence[Claim]
    cluster: Cluster
    nodes: tuple[Node, ...]
    known: tuple[Node, ...]

    @property
    def elsewhere(self) -> list[Node]:
        """Return the nodes that were not asked about."""
        names = {node.name for node in self.nodes}
        return [node for node in self.known if node.name not in names]


def asked_in(found: AllocationInput) -> Asked:
    """Return what files, or a claim of a cluster, ask."""
    cluster = found.cluster
    known = found.objects.nodes_to_try(cluster.pools, None)
    return Asked(claims=found.objects.claims, cluster=cluster, nodes=found.nodes, known=known)
