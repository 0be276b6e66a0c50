"""What is worked out once per node, and once for all nodes that look the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from scheduler_core.state.node_class import NodeView

T = TypeVar("T")
Look = Callable[[NodeView], Hashable]
"""What a claim sees of a node, equal for nodes that look the same; None where no other does."""


class PerNode(Generic[T]):
    """Values by node. ``make`` works one out."""

    def __init__(self, make: Callable[[NodeView], T], look: Look) -> None:
        self._make = make
        self._look = look
        self._by_node: dict[NodeView, T] = {}
        self._by_look: dict[Hashable, T] = {}

    def of(self, node_view: NodeView) -> T:
        """Return the value for a node."""
        found = self._by_node.get(node_view)
        if found is None:
            found = self._by_node[node_view] = self._shared(node_view)
        return found

    def _shared(self, node_view: NodeView) -> T:
        look = self._look(node_view)
        if look is None:
            return self._make(node_view)
        found = self._by_look.get(look)
        if found is None:
            found = self._by_look[look] = self._make(node_view)
        return found

    def forget(self, node_view: NodeView) -> None:
        """Forget a node that is no more. What others share with it is kept."""
        self._by_node.pop(node_view, None)
