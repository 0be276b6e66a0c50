"""Node order: how many components of each node nobody uses, of the structures that a claim asks for.

Best-fit looks at the node with the fewest such components first, so that other nodes stay whole. A GPU with
its partitions is a component. A claim for GPUs does not look at NICs, and a claim for both looks at both. The
counts are one byte per node, so finding the first nodes is a search in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final

from scheduler_core.engine.compiled_claim import CompiledClaim
from scheduler_core.model.nodes import Node
from scheduler_core.state.node_class import NodeClass, NodeView
from scheduler_core.state.node_views import NodeViews
from scheduler_core.tables.occupancy import OccupancyTables

Structures = frozenset[OccupancyTables]
MOST: Final = 254  # a node with more unused components counts as one with so many
_LIMIT: Final = 32  # sets of structures kept; then they are cleared


class NodeOrder:
    """Keeps the counts of the nodes that own a pool, by set of structures."""

    def __init__(self, node_views: NodeViews) -> None:
        self._node_views = node_views
        self._names: tuple[str, ...] = ()
        self._numbers: dict[str, int] = {}
        self._counts: dict[Structures, bytearray] = {}
        self._stale: set[str] = set()
        self._wanted: dict[CompiledClaim, Structures] = {}
        self._classes: tuple[NodeView, ...] | None = None

    def changed(self, names: Iterable[str]) -> None:
        """Note that devices of some nodes were taken or given back."""
        self._stale.update(names)

    def published(self, name: str) -> None:
        """Note that the devices of a node were published anew."""
        self._stale.add(name)
        self._classes = None
        self._wanted.clear()

    def forget(self) -> None:
        """Forget all compiled claims."""
        self._wanted.clear()

    def counts(self, compiled: CompiledClaim) -> bytearray:
        """Return the counts of all nodes that own a pool. Shape: by name, at most ``MOST`` each."""
        self._refresh()
        wanted = self._structures(compiled)
        found = self._counts.get(wanted)
        if found is None:
            if len(self._counts) >= _LIMIT:
                self._counts.clear()
            nodes = map(self._node_views.node, self._names)
            found = self._counts[wanted] = bytearray([self._count(node, wanted) for node in nodes])
        return found

    def counts_of(self, compiled: CompiledClaim, nodes: Sequence[Node]) -> list[int]:
        """Return the counts of some nodes, in their order."""
        counts, numbers = self.counts(compiled), self._numbers
        wanted = self._structures(compiled)
        return [
            counts[numbers[node.name]] if node.name in numbers else self._count(node, wanted)
            for node in nodes
        ]

    def fullest_first(self, compiled: CompiledClaim, nodes: Sequence[Node]) -> list[Node]:
        """Return nodes with the smallest count first. Shape: nodes with equal counts stay in order."""
        pairs = zip(self.counts_of(compiled, nodes), nodes, strict=True)
        return [node for _, node in sorted(pairs, key=itemgetter(0))]

    def _refresh(self) -> None:
        """Count anew where something changed."""
        if self._names is not self._node_views.names:
            self._names = self._node_views.names
            self._numbers = {name: number for number, name in enumerate(self._names)}
            self._counts.clear()
            self._classes = None
            self._wanted.clear()
        for name in self._names if self._node_views.has_shared else self._stale:
            number = self._numbers.get(name)
            if number is not None:
                unused = _unused(self._node_views.node_view(self._node_views.node(name)))
                for wanted, counts in self._counts.items():
                    counts[number] = min(MOST, sum(map(wanted.__contains__, unused)))
        self._stale.clear()

    def _count(self, node: Node, wanted: Structures) -> int:
        return min(MOST, sum(map(wanted.__contains__, _unused(self._node_views.node_view(node)))))

    def _structures(self, compiled: CompiledClaim) -> Structures:
        """Return the structures in which some request matches a device, on one node of every class."""
        found = self._wanted.get(compiled)
        if found is None:
            views = self._one_of_each_class()
            found = frozenset(one for view in views for one in compiled.structures(view))
            self._wanted[compiled] = found
        return found

    def _one_of_each_class(self) -> tuple[NodeView, ...]:
        if self._classes is None:
            found: dict[NodeClass, NodeView] = {}
            for name in self._names:
                node_view = self._node_views.node_view(self._node_views.node(name))
                found.setdefault(node_view.node_class, node_view)
            self._classes = tuple(found.values())
        return self._classes


def _unused(node_view: NodeView) -> list[OccupancyTables]:
    """Return the structures of the components that nobody uses."""
    return [one.template.tables for one in node_view.components if not one.state and not one.consumed]
