"""Which claims to end so that all copies of a workload fit: the fewest over all nodes together.

What ends on one node makes no room on another. So for each node the fewest claims are searched that let one
more copy fit there, two more, and so on; then the copies are divided among the nodes so that the fewest end
in all. Copies that have their devices keep them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.planning.ending import QUESTIONS, Ending, EndingSearch, Questions, wish_for
from scheduler_core.planning.freeing import EACH, holders_that_may_end, moved, pattern_of
from scheduler_core.planning.room import copies
from scheduler_core.planning.trial_changes import TrialChanges
from scheduler_core.planning.workload import place
from scheduler_core.state.assignments import Holder, holder_of

COPIES: Final = 1000
"""Copies that are divided among nodes at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnding:
    """Claims to end on one node, and how many copies then fit there."""

    ending: Ending
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingForAll:
    """What to end so that all copies fit.

    Shape: ``nodes`` in the order asked, None where no set of claims was found; ``moves`` says, by claim, on
           which node an ended claim fits afterwards; ``placed`` how many of the copies the policy places
           then; ``is_complete`` False where the bound of questions was reached: then fewer claims may do.
    """

    nodes: tuple[NodeEnding, ...] | None
    moves: Mapping[ClaimRef, str] = field(default_factory=dict)
    placed: int = 0
    is_complete: bool = True

    @property
    def total(self) -> int:
        """Return how many claims end."""
        return sum(len(one.ending.ended) for one in self.nodes or ())


def ending_for_all(
    engine: Engine,
    claims: Sequence[Claim],
    missing: int,
    nodes: Sequence[Node],
    *,
    kept: Collection[Holder] = (),
    specs: Mapping[ClaimRef, Claim] | None = None,
    before: int = 0,
    questions: int = QUESTIONS,
) -> EndingForAll:
    """Return which claims to end so that ``missing`` further copies fit.

    Shape: ``kept`` are claims that must stay; ``specs`` what claims that hold devices ask for; ``before``
           copies hold devices on trial already; ``questions`` to the allocator at most, a few more where the
           bound is reached.
    Raises: as ``Engine.allocate``.
    """
    if missing > COPIES:
        return EndingForAll(nodes=None, is_complete=False)
    search = _SearchForAll(
        engine, claims, missing, kept, questions, max(EACH, questions // max(1, len(nodes)))
    )
    by_node = [search.endings(node) for node in nodes]
    chosen = _divided([[len(one.ended) for one in endings] for endings in by_node], missing)
    if chosen is None:
        return EndingForAll(nodes=None, is_complete=search.is_complete)
    endings = tuple(
        NodeEnding(ending=mine[number - 1], copies=number)
        for mine, number in zip(by_node, chosen, strict=True)
        if number
    )
    with TrialChanges(engine.state) as trial:
        ended = [held for one in endings for held in one.ending.ended]
        for held in ended:
            trial.end(held)
        placed = place(engine, trial, claims, missing, nodes, before=before).placed
        known = [specs[held.ref] for held in ended if specs and held.ref in specs]
        moves = dict(moved(engine, trial, known, nodes)) if placed == missing else {}
    return EndingForAll(nodes=endings, moves=moves, placed=before + placed, is_complete=search.is_complete)


@dataclass(slots=True)
class _SearchForAll:
    """The fewest claims for each number of copies, node after node."""

    engine: Engine
    claims: Sequence[Claim]
    missing: int
    kept: Collection[Holder]
    left: int
    each: int
    is_complete: bool = True
    _known: dict[Hashable, list[tuple[Sequence[int], bool]]] = field(default_factory=dict)

    def endings(self, node: Node) -> list[Ending]:
        """Return what to end on a node for one copy, for two, up to the last number that fits."""
        held = holders_that_may_end(self.engine.state.concerning(node), self.kept)
        holders = sorted(held, key=lambda one: pattern_of([one]))
        key = (self.engine.likeness(self.claims, node), pattern_of(holders))
        if key not in self._known:
            found = self._searched(node, holders)
            numbers = {holder_of(one): number for number, one in enumerate(holders)}
            self._known[key] = [
                ([numbers[holder_of(held)] for held in one.ended], one.is_fewest) for one in found
            ]
        return [
            Ending(node=node.name, ended=tuple([holders[one] for one in numbers]), is_fewest=is_fewest)
            for numbers, is_fewest in self._known[key]
        ]

    def _searched(self, node: Node, holders: Sequence[AllocatedClaim]) -> list[Ending]:
        found: list[Ending] = []
        budget = Questions(min(self.left, self.each))
        asked = budget.left
        while len(found) < self.missing:
            if budget.are_used_up:
                self.is_complete = False
                break
            wanted = [one for number in range(len(found) + 1) for one in copies(self.claims, -number)]
            wish = wish_for(self.engine, wanted, node, len(holders))
            search = EndingSearch(self.engine.state, wish, node, holders, budget, len(holders))
            ending = search.run()
            self.is_complete = self.is_complete and search.is_complete
            if ending is None:
                break
            found.append(ending)
        self.left -= asked - budget.left
        return found


def _divided(costs: Sequence[Sequence[int]], wanted: int) -> list[int] | None:
    """Return how many copies each node gets so that the fewest claims end; None where they do not all fit.

    Shape: ``costs`` has, per node, how many claims end for one copy, for two, and so on.
    """
    best: list[float] = [0, *[inf] * wanted]  # by how many copies the nodes so far get
    chosen: list[list[int]] = []
    for mine in costs:
        before, numbers = best.copy(), [0] * (wanted + 1)
        for number, cost in enumerate(mine, 1):
            for total in range(number, wanted + 1):
                if before[total - number] + cost < best[total]:
                    best[total], numbers[total] = before[total - number] + cost, number
        chosen.append(numbers)
    if best[wanted] == inf:
        return None
    left, found = wanted, []
    for numbers in reversed(chosen):
        found.append(numbers[left])
        left -= numbers[left]
    return found[::-1]
