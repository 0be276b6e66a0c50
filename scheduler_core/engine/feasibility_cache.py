"""Feasibility cache: on which nodes a claim signature fits, remembered until something changes there.

The answers are one byte per node and claim signature, so asking all nodes again is one pass over bytes.
Nothing is remembered where nodes share a pool. An answer that does not depend on the states of components
alone is not remembered either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from scheduler_core.engine.compiled_claim import CompiledClaim
from scheduler_core.engine.node_order import MOST
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from scheduler_core.state.node_class import NodeView
from scheduler_core.state.node_views import NodeViews

_NO: Final = 0
_YES: Final = 1
_UNKNOWN: Final = 2
_EXCLUDED: Final = bytes([255 if flag == _NO else 0 for flag in range(256)])
"""By flag: a byte that no count is where the claims do not fit, else 0."""
Judge = Callable[[Sequence[Claim], CompiledClaim, NodeView], tuple[bool | Undecided, bool]]
"""Whether claims fit on a node, and whether that may be remembered."""


class FeasibilityCache:
    """On which nodes claims fit, by compiled claim. ``judge`` answers what is not known."""

    def __init__(self, node_views: NodeViews, judge: Judge) -> None:
        self._node_views = node_views
        self._judge = judge
        self._names: tuple[str, ...] = ()
        self._numbers: dict[str, int] = {}
        self._flags: dict[CompiledClaim, bytearray] = {}

    def changed(self, names: Iterable[str]) -> None:
        """Note that the devices of some nodes were published anew."""
        for name in names:
            number = self._numbers.get(name)
            if number is not None:
                for flags in self._flags.values():
                    flags[number] = _UNKNOWN

    def taken(self, names: Iterable[str]) -> None:
        """Note that devices of some nodes were taken. Claims that did not fit there still do not."""
        self._forget_where(names, _YES)

    def given(self, names: Iterable[str]) -> None:
        """Note that devices of some nodes were given back. Claims that fitted there still do."""
        self._forget_where(names, _NO)

    def _forget_where(self, names: Iterable[str], known: int) -> None:
        for name in names:
            number = self._numbers.get(name)
            if number is not None:
                for flags in self._flags.values():
                    if flags[number] == known:
                        flags[number] = _UNKNOWN

    def forget(self, compiled: CompiledClaim | None = None) -> None:
        """Forget a compiled claim, or all."""
        if compiled is None:
            self._flags.clear()
        else:
            self._flags.pop(compiled, None)

    def fits(self, claims: Sequence[Claim], compiled: CompiledClaim, node: Node) -> bool | Undecided:
        """Whether the claims fit on a node."""
        if self._node_views.has_shared:
            return self._ask(claims, compiled, node)
        flags = self._flags_of(compiled)
        number = self._numbers.get(node.name)
        if number is None or flags[number] == _UNKNOWN:
            return self._ask(claims, compiled, node, number)
        return flags[number] == _YES

    def fitting(
        self,
        claims: Sequence[Claim],
        compiled: CompiledClaim,
        nodes: Sequence[Node],
        undecided: list[Undecided],
    ) -> Iterator[Node]:
        """Yield the nodes on which the claims fit, in the order given; add those that are undecided."""
        for node in nodes:
            found = self.fits(claims, compiled, node)
            if isinstance(found, Undecided):
                undecided.append(found)
            elif found:
                yield node

    def feasible(
        self,
        claims: Sequence[Claim],
        compiled: CompiledClaim,
        nodes: Sequence[Node],
        undecided: list[Undecided],
    ) -> tuple[str, ...]:
        """Return the names of the nodes on which the claims fit, in the order given; add the undecided."""
        if self._node_views.has_shared:
            return tuple([node.name for node in self.fitting(claims, compiled, nodes, undecided)])
        flags, numbers = self._flags_of(compiled), self._numbers
        found = []
        for node in nodes:
            number = numbers.get(node.name, -1)
            known = flags[number] if number >= 0 else _UNKNOWN
            if known == _YES or (
                known == _UNKNOWN and list(self.fitting(claims, compiled, (node,), undecided))
            ):
                found.append(node.name)
        return tuple(found)

    def known(
        self, claims: Sequence[Claim], compiled: CompiledClaim, undecided: list[Undecided]
    ) -> Iterator[str]:
        """Yield the nodes that own a pool and on which the claims fit, by name; add the undecided."""
        flags = self._flags_of(compiled)
        number = -1
        while True:
            unknown = flags.find(_UNKNOWN, number + 1)
            number = flags.find(_YES, number + 1, unknown if unknown >= 0 else len(flags))
            if number < 0:
                if unknown < 0:
                    return
                number = unknown
                node = self._node_views.node(self._names[number])
                if not list(self.fitting(claims, compiled, (node,), undecided)):
                    continue
            yield self._names[number]

    def known_by(
        self,
        counts: bytearray,
        claims: Sequence[Claim],
        compiled: CompiledClaim,
        undecided: list[Undecided],
    ) -> Iterator[str]:
        """Yield what ``known`` does, the those with the smallest counts first."""
        flags, is_shared = self._flags_of(compiled), self._node_views.has_shared
        excluded = int.from_bytes(flags.translate(_EXCLUDED), "little")
        left = (int.from_bytes(counts, "little") | excluded).to_bytes(len(flags), "little")
        for count in range(MOST + 1):
            number = left.find(count)
            while number >= 0:
                name = self._names[number]
                found: bool | Undecided = flags[number] == _YES
                if not found:
                    node = self._node_views.node(name)
                    found = self._ask(claims, compiled, node, None if is_shared else number)
                if isinstance(found, Undecided):
                    undecided.append(found)
                elif found:
                    yield name
                number = left.find(count, number + 1)

    def _flags_of(self, compiled: CompiledClaim) -> bytearray:
        if self._names is not self._node_views.names:
            self._names = self._node_views.names
            self._numbers = {name: number for number, name in enumerate(self._names)}
            self._flags.clear()
        flags = self._flags.get(compiled)
        if flags is None:
            flags = self._flags[compiled] = bytearray([_UNKNOWN]) * len(self._names)
        return flags

    def _ask(
        self, claims: Sequence[Claim], compiled: CompiledClaim, node: Node, number: int | None = None
    ) -> bool | Undecided:
        """Judge a node, and note the answer under its number if it lasts."""
        is_fit, may_keep = self._judge(claims, compiled, self._node_views.node_view(node))
        if number is not None and may_keep and not isinstance(is_fit, Undecided):
            self._flags[compiled][number] = is_fit
        return is_fit
