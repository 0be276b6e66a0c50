"""Part kinds and part counts: the kinds of parts of a structure, and how many of each still fit.

The core does not know the profiles of any hardware. Without given demands it takes positions with equal
draws for one kind of part: equal amounts from as many counters, whichever counters these are. Kinds of
different structures are the same kind where their draws are equal. The weight of a kind is the share of the
whole component that one part takes.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.solve.component_view import ComponentView
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables

PartKey = tuple[object, ...]
Fit = tuple[int, ...]
"""How many parts of each kind still fit if nothing else is taken. Shape: one entry per part kind."""
_EXACT: Final = 64  # up to so many positions the number of parts is searched; above, it is estimated
_STEPS: Final = 512  # steps of a search per state and kind; then it is estimated: only prices change by that
_LIMIT: Final = 1 << 15  # states kept; then the table is cleared


@dataclass(frozen=True, slots=True)
class PartKind:
    """Parts of one kind. Shape: ``mask`` their positions; ``weight`` not negative; equal keys: one kind."""

    key: PartKey
    mask: int
    weight: float


class PartCounts:
    """The part kinds of a structure, and how many parts fit in each state."""

    __slots__ = ("_effort", "_known", "_tables", "_total", "_views", "part_kinds")

    def __init__(self, tables: OccupancyTables, part_kinds: tuple[PartKind, ...], effort: Effort) -> None:
        self.part_kinds = part_kinds
        self._tables = tables
        self._total = effort
        self._effort = Effort()
        self._views = tuple(
            ComponentView(tables, (part_kind.mask,), self._effort) for part_kind in self.part_kinds
        )
        self._known: dict[int, Fit] = {}

    def fit(self, state: int) -> Fit:
        """Return how many parts of each kind still fit in a state."""
        known = self._known.get(state)
        if known is None:
            known = tuple([self._most(view, state) for view in self._views])
            if len(self._known) >= _LIMIT:
                self._known.clear()
            self._known[state] = known
        return known

    def weight(self, mask: int) -> float:
        """Return the largest weight of the kinds that have a position in ``mask``."""
        return max((part_kind.weight for part_kind in self.part_kinds if part_kind.mask & mask), default=0.0)

    def _most(self, view: ComponentView, state: int) -> int:
        if self._tables.size > _EXACT:
            return self._filled(view, state)
        before = self._effort.steps
        self._effort.most = before + _STEPS
        try:
            return self._searched(view, state)
        except EffortExceeded:
            return self._filled(view, state)
        finally:
            self._total.steps += self._effort.steps - before

    def _searched(self, view: ComponentView, state: int) -> int:
        most = (self._tables.free(state) & view.masks[0]).bit_count()
        while most and not view.fits(state, (most,)):
            most -= 1
        return most

    def _filled(self, view: ComponentView, state: int) -> int:
        """Return how many parts fit if the first free one is taken each time. The best order may fit more."""
        count = 0
        while (position := view.lowest(state, 0)) >= 0:
            self._tables.free_after(state, position)
            state |= 1 << position
            count += 1
        return count


def part_kinds_of(tables: OccupancyTables) -> tuple[PartKind, ...]:
    """Return the part kinds of a structure without given demands: positions with equal draws are one kind."""
    masks: dict[PartKey, int] = {}
    for position in range(tables.size):
        key = _key(tables, position)
        masks[key] = masks.get(key, 0) | 1 << position
    return tuple(PartKind(key, mask, share(tables, next(positions(mask)))) for key, mask in masks.items())


def _key(tables: OccupancyTables, position: int) -> PartKey:
    draws = sorted(
        (amount, tables.structure.totals[counter]) for counter, amount in tables.structure.draws[position]
    )
    return (tables.below[position].bit_count(), tables.above[position].bit_count(), *draws)


def share(tables: OccupancyTables, position: int) -> float:
    """Return the largest share that a device takes of any counter; 1 for a device that draws nothing.

    Counters of which a device takes the total or nothing count together: one of eight is an eighth.
    """
    draws = tables.structure.draws[position]
    if not draws:
        return 1.0
    shares = [
        amount / max(amount, tables.structure.totals[counter])
        for counter, amount in draws
        if counter not in tables.whole_counters and amount
    ]
    taken = sum(counter in tables.whole_counters for counter, _ in draws)
    return max([*shares, taken / max(1, len(tables.whole_counters))])
