"""Two changes at once after which claims fit, for claims that no single change makes fit.

Takes claims, an engine and nodes; returns pairs of changes, which the allocator has answered with devices.
All questions together are bounded. The engine's state is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from scheduler_core.advice.remedies import (
    AskForLess,
    Change,
    DropConstraint,
    EndClaims,
    Reword,
    SingleChange,
    TakeFewer,
    Together,
    UseNode,
    changed_claims,
)
from scheduler_core.advice.single_changes import (
    asked_counts,
    dropped,
    ended,
    fewer,
    less,
    reworded_on,
    widened,
)
from scheduler_core.advice.trials import Trials
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node

_NODES: Final = 4  # nodes of each sort on which pairs are tried
_QUESTIONS: Final = 800  # to the allocator, for all pairs
_OFFERED: Final = 3  # pairs that are told


def pairs(
    claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node], elsewhere: Sequence[Node]
) -> tuple[Together, ...]:
    """Return pairs of changes, one of each sort, those first that change the least.

    Shape: the claims fit on none of ``nodes`` after any single change, and as they are on none of
           ``elsewhere``.
    """
    search = _Pairs(engine, Trials(engine, _QUESTIONS))
    found: dict[tuple[str, str], Together] = {}
    here = (search.on(claims, node) for node in nodes[:_NODES])
    there = (search.elsewhere(claims, node) for node in elsewhere[:_NODES])
    for one in chain.from_iterable(chain(here, there)):
        best = found.setdefault(_sort_of(one), one)
        if _weight(one) < _weight(best):
            found[_sort_of(one)] = one
    return tuple(sorted(found.values(), key=_weight)[:_OFFERED])


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The search for pairs, within the bound of its trials."""

    engine: Engine
    trials: Trials

    def elsewhere(self, claims: Sequence[Claim], node: Node) -> Iterator[Together]:
        """Yield a single change for a node that was not asked about."""
        for second in self._seconds(claims, node):
            yield Together(node=node.name, steps=(UseNode(node=node.name), second))

    def on(self, claims: Sequence[Claim], node: Node) -> Iterator[Together]:
        """Yield two changes on one node; of two changes of one kind each pair once."""
        for first in self._firsts(claims, node):
            for second in self._seconds(changed_claims(first, claims), node):
                if _comes_after(second, first):
                    yield Together(node=node.name, steps=(first, second))

    def _firsts(self, claims: Sequence[Claim], node: Node) -> Iterator[SingleChange]:
        """Yield the changes of the claims that may be the first of a pair; none is tried by itself."""
        yield from reworded_on(claims, self.engine, node, _always)
        for one in asked_counts(claims, node):
            yield from (replace(one, count=count) for count in range(one.asked - 1, 0, -1))
        yield from less(claims, self.engine, node, _always)
        yield from dropped(claims, node, _always)

    def _seconds(self, claims: Sequence[Claim], node: Node) -> Iterator[SingleChange]:
        """Yield the single changes that make claims fit."""
        if self.trials.is_over:
            return
        yield from reworded_on(claims, self.engine, node, self.trials.fits)
        yield from ended(claims, self.engine, [node], self.trials)
        yield from fewer(claims, node, self.trials)
        yield from less(claims, self.engine, node, self.trials.fits)
        yield from widened(claims, node, self.trials.fits)
        yield from dropped(claims, node, self.trials.fits)


def _always(*_: object) -> bool:
    return True


def _comes_after(second: SingleChange, first: SingleChange) -> bool:
    """Whether a pair is told in this order, and its changes are of different things."""
    match first, second:
        case Reword(after=after), Reword(before=before):
            return after != before  # else a single change of the same expression
        case TakeFewer(), TakeFewer():
            return (first.claim, first.request) != (second.claim, second.request)
        case AskForLess(), AskForLess():
            there = (second.claim, second.request, second.capacity)
            return (first.claim, first.request, first.capacity) != there
        case DropConstraint(), DropConstraint():  # the places before the first one are as they were
            return first.claim != second.claim or second.place < first.place
        case _:
            return not isinstance(second, Reword)


def _sort_of(pair: Together) -> tuple[str, str]:
    first, second = pair.steps
    return type(first).__name__, type(second).__name__


def _weight(pair: Together) -> tuple[int, int, int]:
    """Return how much a pair changes: claims that end, then what is no correction, then fewer devices."""
    _, second = pair.steps
    ending = len(second.held) if isinstance(second, EndClaims) else 0
    fewer_devices = sum(one.asked - one.count for one in pair.steps if isinstance(one, TakeFewer))
    others = sum(not (isinstance(one, Reword) and one.change is Change.CORRECTION) for one in pair.steps)
    return ending, others, fewer_devices
