"""Profiles: the kinds of parts that a shape can be cut into, and how many of each still fit.

The core knows no hardware. Unless told which demands to keep in mind, it takes positions that draw alike
(as large a part of as many places, whichever places those are) for one profile; profiles of different
shapes are the same when they draw alike. A profile weighs the share of the whole that one part takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scheduler_core.base.effort import Effort, TooMuch
from scheduler_core.engine.solve.component_view import Cell
from scheduler_core.engine.tables.bits import positions
from scheduler_core.engine.tables.occupancy import Shape

ProfileKey = tuple[object, ...]
Fit = tuple[int, ...]
"""How many parts of each profile of a shape still fit, each profile alone."""
_EXACT: Final = 64  # positions up to which the number of parts is searched, not estimated
_STEPS: Final = 512  # and for how long, per state and profile: prices may be a little off, answers not
_LIMIT: Final = 1 << 15  # states kept per shape before its table starts afresh


@dataclass(frozen=True, slots=True)
class Profile:
    """Parts for which there is one demand. Shape: ``weight`` not negative; equal keys are one profile."""

    key: ProfileKey
    mask: int
    weight: float


class Stock:
    """Some profiles of a shape, and what fits in each state."""

    __slots__ = ("_cells", "_effort", "_known", "_shape", "_total", "profiles")

    def __init__(self, shape: Shape, profiles: tuple[Profile, ...], effort: Effort) -> None:
        self.profiles = profiles
        self._shape = shape
        self._total = effort
        self._effort = Effort()
        self._cells = tuple(Cell(shape, (profile.mask,), self._effort) for profile in self.profiles)
        self._known: dict[int, Fit] = {}

    def fit(self, state: int) -> Fit:
        """Return how many parts of each profile still fit."""
        known = self._known.get(state)
        if known is None:
            known = tuple([self._most(cell, state) for cell in self._cells])
            if len(self._known) >= _LIMIT:
                self._known.clear()
            self._known[state] = known
        return known

    def weight(self, mask: int) -> float:
        """Return the weight of the heaviest profile that a mask meets."""
        return max((profile.weight for profile in self.profiles if profile.mask & mask), default=0.0)

    def _most(self, cell: Cell, state: int) -> int:
        if self._shape.size > _EXACT:
            return self._filled(cell, state)
        before = self._effort.steps
        self._effort.most = before + _STEPS
        try:
            return self._searched(cell, state)
        except TooMuch:
            return self._filled(cell, state)
        finally:
            self._total.steps += self._effort.steps - before

    def _searched(self, cell: Cell, state: int) -> int:
        most = (self._shape.free(state) & cell.masks[0]).bit_count()
        while most and not cell.fits(state, (most,)):
            most -= 1
        return most

    def _filled(self, cell: Cell, state: int) -> int:
        """Return how many parts fit when the first free one is taken each time: no more than fit at best."""
        count = 0
        while (position := cell.lowest(state, 0)) >= 0:
            self._shape.free_after(state, position)
            state |= 1 << position
            count += 1
        return count


def profiles_of(shape: Shape) -> tuple[Profile, ...]:
    """Return the profiles of a shape: positions that draw alike, each weighing its share of the whole."""
    masks: dict[ProfileKey, int] = {}
    for position in range(shape.size):
        key = _key(shape, position)
        masks[key] = masks.get(key, 0) | 1 << position
    return tuple(Profile(key, mask, share(shape, next(positions(mask)))) for key, mask in masks.items())


def _key(shape: Shape, position: int) -> ProfileKey:
    draws = sorted((amount, shape.structure.room[place]) for place, amount in shape.structure.draws[position])
    return (shape.below[position].bit_count(), shape.above[position].bit_count(), *draws)


def share(shape: Shape, position: int) -> float:
    """Return the largest part of anything that the device takes; a whole component takes all of it.

    Places that are taken as a whole or not at all (slots) count together: one of eight is an eighth.
    """
    draws = shape.structure.draws[position]
    if not draws:
        return 1.0
    shares = [
        amount / max(amount, shape.structure.room[place])
        for place, amount in draws
        if place not in shape.slots and amount
    ]
    slots = sum(place in shape.slots for place, _ in draws)
    return max([*shares, slots / max(1, len(shape.slots))])
