"""Values computed once per node, and only once for all nodes with equal keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from scheduler_core.state.node_class import NodeView

T = TypeVar("T")
Look = Callable[[NodeView], Hashable]
"""A node's key: nodes with equal keys share a value. None for a node that shares its value with no other."""


class PerNode(Generic[T]):
    """Values by node. ``make`` computes the value of a node."""

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
        """Forget a removed node. A value that other nodes share with it is kept."""
        self._by_node.pop(node_view, None)
