"""Nodes that are held back for pods that have waited long, so that smaller pods do not take every free
device.

The rule: a pod that has waited for ``after_s`` seconds gets one node on which it would fit if nobody used
it, the one with the fewest claims. Pods behind it in the line get no devices there until it is served or
gone. Pods of one shape get one node together. Pure; for one thread.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from controller.decide.allocator import Allocator
from controller.decide.question import Question
from controller.queue.waiting_line import Entry, Order
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.model.nodes import Node


@dataclass(frozen=True, slots=True)
class Held:
    """A node that is held back for a pod."""

    node: str
    order: Order
    shape: Hashable


class HeldBack:
    """The nodes that are held back."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator
        self._held: dict[Hashable, Held] = {}

    def nodes(self, order: Order) -> frozenset[str]:
        """Return the nodes that a pod at a place of the line may not use."""
        return frozenset(one.node for one in self._held.values() if one.order < order)

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, entry: Entry, question: Question, against: dict[str, str]) -> str | None:
        """Hold a node back for a pod that was refused, and return its name, None where none would do."""
        known = self._held.get(entry.shape)
        if known is not None and self._allocator.candidates.rule_against(question, known.node) is None:
            self._held[entry.shape] = replace(known, order=min(known.order, entry.order))
            return known.node
        self._held.pop(entry.shape, None)
        node = self._chosen(question, against)
        if node is not None:
            self._held[entry.shape] = Held(node, entry.order, entry.shape)
        return node

    def let_go(self, uid: str) -> bool:
        """Hold nothing back for a pod any more; return whether a node was held back for it."""
        mine = [shape for shape, one in self._held.items() if one.order.uid == uid]
        for shape in mine:
            del self._held[shape]
        return bool(mine)

    def _chosen(self, question: Question, against: dict[str, str]) -> str | None:
        views = self._allocator.seen.devices.views
        taken = {one.node for one in self._held.values()}
        fits: dict[object, bool] = {}
        found: list[tuple[int, str]] = []
        for name in views.names:
            if name in taken or name in against:
                continue
            if self._allocator.candidates.rule_against(question, name) is not None:
                continue
            node = views.node(name)
            kind = views.node_view(node).node_class
            if kind not in fits:
                fits[kind] = self._fits_empty(question, node)
            if fits[kind]:
                found.append((len(self._allocator.seen.devices.concerning(node)), name))
        return min(found)[1] if found else None

    def _fits_empty(self, question: Question, node: Node) -> bool:
        """Whether the claims fit on a node of this kind that nobody uses."""
        try:
            claims = [one.asked for one in self._allocator.ours(question)]
            empty = replace(self._allocator.seen.devices.seen_from(node), allocated=())
            return bool(Engine.of(empty, FIRST_FIT).feasible_nodes(claims, [node]).names)
        except CoreError:
            return False
