"""Component views: a component as the columns of a subproblem see it.

A *column* stands for requests that the same devices suit. A component view has the occupancy tables of a
structure and, per column, the positions that suit. It returns which count vectors fit in a state, and which
devices come first. All components and subproblems with equal views share one view and its caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scheduler_core.base.effort import Effort
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables

Counts = tuple[int, ...]
"""How many devices of each column."""
_LIMIT: Final = 1 << 15  # answers kept per view; then the cache is cleared


class ComponentView:
    """A component as some columns see it. Shape: ``masks`` has the suitable positions per column."""

    __slots__ = ("_effort", "_equivalent", "_fits", "_frontiers", "_least", "_lowest", "masks", "tables")

    def __init__(self, tables: OccupancyTables, masks: tuple[int, ...], effort: Effort) -> None:
        self.tables = tables
        self.masks = masks
        self._effort = effort
        self._equivalent: dict[int, int] = {}
        self._least = tuple(_least_draws(tables, mask) for mask in masks)
        self._lowest: tuple[dict[int, int], ...] = tuple({} for _ in masks)
        self._fits: dict[tuple[int, Counts], bool] = {}
        self._frontiers: dict[tuple[int, Counts], tuple[Counts, ...]] = {}

    def lowest(self, state: int, column: int) -> int:
        """Return the first free position of a column, -1 where none is free."""
        known = self._lowest[column].get(state)
        if known is None:
            suitable = self.tables.free(state) & self.masks[column]
            known = (suitable & -suitable).bit_length() - 1
            if len(self._lowest[column]) >= _LIMIT:
                self._lowest[column].clear()
            self._lowest[column][state] = known
        return known

    def fits(self, state: int, counts: Counts) -> bool:
        """Whether that many devices of each column can be taken together."""
        known = self._fits.get((state, counts))
        if known is None:
            known = self._search(state, counts)
            if len(self._fits) >= _LIMIT:
                self._fits.clear()
            self._fits[state, counts] = known
        return known

    def fits_after(self, state: int, position: int, counts: Counts) -> bool:
        """Whether the counts fit once ``position``, free in ``state``, is taken too."""
        self.tables.free_after(state, position)
        return self.fits(state | 1 << position, counts)

    def first(self, state: int, order: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the first devices for a sequence of columns, None where they do not fit together."""
        counts = counted(order, len(self.masks))
        if not self.fits(state, counts):
            return None
        chosen = []
        for column in order:
            counts = without(counts, column)
            position = next(p for p in self.choices(state, column) if self.fits_after(state, p, counts))
            chosen.append(position)
            state |= 1 << position
        return tuple(chosen)

    def frontier(self, state: int, counts: Counts) -> tuple[Counts, ...]:
        """Return the largest vectors within ``counts`` that fit. A vector fits if it is under one of them."""
        known = self._frontiers.get((state, counts))
        if known is None:
            found: list[Counts] = []
            # Vectors come in descending order: none of them is larger than an earlier one.
            for vector in self._vectors(state, counts, ()):
                if not any(_is_under(vector, other) for other in found):
                    found.append(vector)
            known = tuple(found)
            if len(self._frontiers) >= _LIMIT:
                self._frontiers.clear()
            self._frontiers[state, counts] = known
        return known

    def choices(self, state: int, column: int) -> Iterator[int]:
        """Yield the free positions of a column, of interchangeable ones only the first."""
        free = self.tables.free(state)
        for position in positions(free & self.masks[column]):
            if not self.lower_twins(position) & free:
                yield position

    def lower_twins(self, position: int) -> int:
        """Return the lower positions that are interchangeable with this one in every column."""
        known = self._equivalent.get(position)
        if known is None:
            known = self.tables.twins[position] & ((1 << position) - 1)
            for mask in self.masks:
                known &= mask if mask >> position & 1 else ~mask
            self._equivalent[position] = known
        return known

    def _vectors(self, state: int, counts: Counts, head: Counts) -> Iterator[Counts]:
        """Yield vectors that fit and begin with ``head``, all the largest among them."""
        rest = len(counts) - len(head)
        if rest == 0:
            yield head
            return
        tail = (0,) * (rest - 1)
        for count in range(counts[len(head)], -1, -1):
            if self.fits(state, (*head, count, *tail)):
                yield from self._vectors(state, counts, (*head, count))
                if rest == 1:
                    return

    def _search(self, state: int, counts: Counts) -> bool:
        column = self._tightest(state, counts)
        if column is None:
            return not any(counts)
        rest = without(counts, column)
        if not any(rest):
            return True
        for position in self.choices(state, column):
            self._effort.step()
            if self.fits_after(state, position, rest):
                return True
        return False

    def _tightest(self, state: int, counts: Counts) -> int | None:
        """Return the column with the fewest spare devices, None where nothing is wanted or it cannot fit."""
        free = self.tables.free(state)
        found, slack, union = None, 0, 0
        for column, count in enumerate(counts):
            if count:
                suitable = free & self.masks[column]
                union |= suitable
                spare = suitable.bit_count() - count
                if spare < 0:
                    return None
                if found is None or spare < slack:
                    found, slack = column, spare
        if found is None or union.bit_count() < sum(counts) or self._overdraws(state, counts):
            return None
        return found

    def _overdraws(self, state: int, counts: Counts) -> bool:
        """Whether the least that such devices draw is already more than is left."""
        needed: dict[int, int] = {}
        for count, least in zip(counts, self._least, strict=True):
            if count:
                for counter, amount in least:
                    needed[counter] = needed.get(counter, 0) + count * amount
        left = self.tables.left(state)
        whole_counters = needed.pop(WHOLE_COUNTERS, 0)
        if whole_counters > sum(left[counter] > 0 for counter in self.tables.whole_counters):
            return True
        return any(amount > left[counter] for counter, amount in needed.items())


WHOLE_COUNTERS: Final = -1
"""Stands for all counters together of which a device draws the total or nothing, such as memory slices."""


def counted(order: tuple[int, ...], columns: int) -> Counts:
    """Return how often each column occurs."""
    counts = [0] * columns
    for column in order:
        counts[column] += 1
    return tuple(counts)


def without(counts: Counts, column: int) -> Counts:
    """Return the counts with one device less of a column."""
    return (*counts[:column], counts[column] - 1, *counts[column + 1 :])


def _is_under(one: Counts, other: Counts) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _least_draws(tables: OccupancyTables, mask: int) -> tuple[tuple[int, int], ...]:
    """Return the least that any device of the mask draws, for each counter from which all of them draw."""
    least: dict[int, int] | None = None
    for position in positions(mask):
        mine = dict(tables.structure.draws[position])
        mine[WHOLE_COUNTERS] = len(tables.whole_counters & mine.keys())
        if least is None:
            least = mine
        else:
            least = {counter: min(least[counter], mine[counter]) for counter in least if counter in mine}
    return tuple((counter, amount) for counter, amount in (least or {}).items() if amount)
