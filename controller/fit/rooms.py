"""How much of each node is free: allocatable less what its pods need. Pure; for one thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.resources import NOTHING, Amounts

_CALLED: Final = ("cpu", "memory", "local storage", "room for more pods")


class Rooms:
    """The free amounts of nodes.

    A pod is on one node at most. Nodes and pods may become known in any order.
    """

    def __init__(self) -> None:
        self._room: dict[str, Amounts] = {}
        self._used: dict[str, Amounts] = {}
        self._pods: dict[str, tuple[str, Amounts]] = {}

    def set_node(self, name: str, room: Amounts) -> None:
        """Set what a node can give to pods."""
        self._room[name] = room

    def remove_node(self, name: str) -> None:
        """Forget a node. Its pods still count, if the node comes back."""
        self._room.pop(name, None)

    def put(self, pod: str, node: str, needs: Amounts) -> None:
        """Count a pod, by its UID, on a node, and on no other any more."""
        if self._pods.get(pod) == (node, needs):
            return
        self.take_away(pod)
        self._pods[pod] = (node, needs)
        self._used[node] = self._used.get(node, NOTHING).plus(needs)

    def take_away(self, pod: str) -> str | None:
        """Count a pod nowhere any more, and return the node that has more room now."""
        known = self._pods.pop(pod, None)
        if known is None:
            return None
        node, needs = known
        left = self._used[node].minus(needs)
        if any(left):
            self._used[node] = left
        else:
            del self._used[node]
        return node

    def node_of(self, pod: str) -> str | None:
        """Return the node on which a pod is counted."""
        known = self._pods.get(pod)
        return None if known is None else known[0]

    def free(self, node: str) -> Amounts:
        """Return what is free on a node, nothing on a node that is not known."""
        return self._room.get(node, NOTHING).minus(self._used.get(node, NOTHING))

    def lacking(self, node: str, needs: Amounts) -> Iterator[str]:
        """Yield, in words, what a pod needs more of than the node has free."""
        for name, free, need in zip(_CALLED, self.free(node), needs, strict=True):
            if need > free and need:
                yield name
