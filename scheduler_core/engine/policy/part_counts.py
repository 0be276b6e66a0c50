"""Profiles: the kinds of parts that a shape can be cut into, and how many of each still fit.

The core knows no hardware. Unless told which demands to keep in mind, it takes positions that draw alike
(as large a part of as many places, whichever places those are) for one profile; profiles of different
shapes are the same when they draw alike. A profile weighs the share of the whole that one part takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.engine.solve.component_view import ComponentView
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables

PartKey = tuple[object, ...]
Fit = tuple[int, ...]
"""How many parts of each profile of a shape still fit, each profile alone."""
_EXACT: Final = 64  # positions up to which the number of parts is searched, not estimated
_STEPS: Final = 512  # and for how long, per state and profile: prices may be a little off, answers not
_LIMIT: Final = 1 << 15  # states kept per shape before its table starts afresh


@dataclass(frozen=True, slots=True)
class PartKind:
    """Parts for which there is one demand. Shape: ``weight`` not negative; equal keys are one profile."""

    key: PartKey
    mask: int
    weight: float


class PartCounts:
    """Some profiles of a shape, and what fits in each state."""

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
        """Return how many parts of each profile still fit."""
        known = self._known.get(state)
        if known is None:
            known = tuple([self._most(view, state) for view in self._views])
            if len(self._known) >= _LIMIT:
                self._known.clear()
            self._known[state] = known
        return known

    def weight(self, mask: int) -> float:
        """Return the weight of the heaviest profile that a mask meets."""
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
        """Return how many parts fit when the first free one is taken each time: no more than fit at best."""
        count = 0
        while (position := view.lowest(state, 0)) >= 0:
            self._tables.free_after(state, position)
            state |= 1 << position
            count += 1
        return count


def part_kinds_of(tables: OccupancyTables) -> tuple[PartKind, ...]:
    """Return the profiles of a shape: positions that draw alike, each weighing its share of the whole."""
    masks: dict[PartKey, int] = {}
    for position in range(tables.size):
        key = _key(tables, position)
        masks[key] = masks.get(key, 0) | 1 << position
    return tuple(PartKind(key, mask, share(tables, next(positions(mask)))) for key, mask in masks.items())


def _key(tables: OccupancyTables, position: int) -> PartKey:
    draws = sorted(
        (amount, tables.structure.room[place]) for place, amount in tables.structure.draws[position]
    )
    return (tables.below[position].bit_count(), tables.above[position].bit_count(), *draws)


def share(tables: OccupancyTables, position: int) -> float:
    """Return the largest part of anything that the device takes; a whole component takes all of it.

    Places that are taken as a whole or not at all (slots) count together: one of eight is an eighth.
    """
    draws = tables.structure.draws[position]
    if not draws:
        return 1.0
    shares = [
        amount / max(amount, tables.structure.room[place])
        for place, amount in draws
        if place not in tables.slots and amount
    ]
    slots = sum(place in tables.slots for place, _ in draws)
    return max([*shares, slots / max(1, len(tables.slots))])
