"""Which nodes the controller owns: those whose label says so and whose slices all have our taint.

A node counts as settled some seconds later: kube-scheduler may still write allocations that it decided on
before it saw the taint. Pure; for one thread.
"""

from __future__ import annotations

from collections import Counter


class OwnedNodes:
    """The nodes that the controller owns. Nodes and slices may become known in any order."""

    def __init__(self) -> None:
        self._wanted: set[str] = set()
        self._slices: dict[str, tuple[str, bool]] = {}
        self._since: dict[str, float] = {}
        self._settled: set[str] = set()
        self._tainted: Counter[str] = Counter()
        self._untainted: Counter[str] = Counter()

    def want(self, node: str, *, is_wanted: bool) -> None:
        """Set what the label of a node says."""
        if is_wanted:
            self._wanted.add(node)
        else:
            self._wanted.discard(node)

    def put(self, name: str, node: str, is_owned: bool | None) -> None:
        """Set what a slice of a node says, None where it lists no device."""
        self.remove(name)
        if is_owned is None or not node:
            return
        self._slices[name] = (node, is_owned)
        (self._tainted if is_owned else self._untainted)[node] += 1

    def remove(self, name: str) -> None:
        """Forget a slice, if it is known."""
        known = self._slices.pop(name, None)
        if known is not None:
            (self._tainted if known[1] else self._untainted)[known[0]] -= 1

    def __contains__(self, node: str) -> bool:
        return node in self._wanted and self._tainted[node] > 0 and not self._untainted[node]

    def is_settled(self, node: str) -> bool:
        """Whether the controller may allocate the devices of a node."""
        return node in self._settled and node in self

    @property
    def is_settling(self) -> bool:
        """Whether there are nodes whose devices the controller will soon allocate."""
        return len(self._settled) < len(self._since)

    def settle(self, now: float, after_s: float) -> bool:
        """Note the time; return whether nodes have settled that had not before. Units: seconds, monotonic."""
        owned = {node for node in self._wanted if node in self}
        self._since = {node: self._since.get(node, now) for node in owned}
        before = self._settled
        self._settled = {node for node, since in self._since.items() if now - since >= after_s}
        return not self._settled <= before

    def untainted(self) -> tuple[str, ...]:
        """Return the nodes whose label wants the controller, but whose slices lack the taint."""
        return tuple(sorted(node for node in self._wanted if self._untainted[node]))

    def __len__(self) -> int:
        return sum(node in self for node in self._wanted)
