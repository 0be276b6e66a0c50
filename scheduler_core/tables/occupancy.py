"""Which devices of a component are free, for every set of devices taken: rules S1 to S8 as tables.

The state of a component is a bit mask of the taken positions. What follows from a state is computed once
and kept, for all components of that structure in the cluster. Overdrawn states, which only arise when
claims hold more than there is, are accepted: they leave less than nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.group_masks import GroupMasks
from scheduler_core.tables.structure import Structure

_MEMORY: Final = 1 << 20  # numbers kept per shape before its tables start afresh
Common = tuple[int, ...]
_Situation = tuple[int, int, int, list[int], Common]
"""The free positions; the ancestors in use; the positions that would overdraw; what is left per place; the
modes of each source that all its users share.
"""


class OccupancyTables:
    """The tables of one structure.

    Shape: ``above`` and ``below`` have the ancestors and descendants of each position, as masks;
           ``twins`` the positions that stand for the same thing; ``slots`` the places that are drawn as a
           whole or not at all.
    """

    __slots__ = (
        "_carriers",
        "_draws",
        "_group_masks",
        "_ladders",
        "_limit",
        "_memo",
        "_more",
        "_stacked",
        "above",
        "below",
        "everything",
        "size",
        "slots",
        "structure",
        "twins",
    )  # fmt: skip

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.size = len(structure.parents)
        self.everything = (1 << self.size) - 1
        self.above = _ancestors(structure)
        self.below = _descendants(self.above)
        self.twins = _twins(structure, self.below)
        self._draws = structure.draws
        self._carriers = mask_of([p for p in range(self.size) if self.below[p] and structure.draws[p]])
        self._stacked = mask_of([p for p in range(self.size) if self._draws_twice(p)])
        self._ladders = _ladders(structure)
        self.slots = _slots(structure, self._ladders)
        self._more: list[dict[int, int]] = [{} for _ in structure.room]
        self._memo: dict[int, _Situation] = {}
        self._group_masks = GroupMasks(structure.modes, self.above) if structure.modes else None
        self._limit = max(256, _MEMORY // (self.size + len(structure.room)))

    def free(self, state: int) -> int:
        """Return the positions that could be taken in this state, as a mask."""
        found = self._memo.get(state)
        return found[0] if found is not None else self._computed(state)[0]

    def free_after(self, state: int, position: int) -> int:
        """Return the free positions once ``position``, free in ``state``, is taken too."""
        found = self._memo.get(state | 1 << position)
        return found[0] if found is not None else self._with(state, position)[0]

    def left(self, state: int) -> list[int]:
        """Return what is left of each place. Units: steps of the place. Not to be changed."""
        return (self._memo.get(state) or self._computed(state))[3]

    def _keep(self, state: int, situation: _Situation) -> _Situation:
        if len(self._memo) >= self._limit:
            self._memo.clear()
        self._memo[state] = situation
        return situation

    def _computed(self, state: int) -> _Situation:
        """Compute a state from nothing: what holds it may overdraw it."""
        left = list(self.structure.room)
        active = under = 0
        for position in positions(state):
            active |= self.above[position]
            under |= self.below[position]
            self._draw(position, left)
        for position in positions(active):
            self._draw(position, left)
        short = 0
        for place, amount in enumerate(left):
            short |= self._too_much(place, amount)
        common: Common = ()
        free = self.everything & ~(state | active | under | self._blocked(short, active))
        if self._group_masks is not None:
            common = self._group_masks.narrowed(self._group_masks.all, positions(state | active))
            free &= ~self._group_masks.excluded(common, active)
        return self._keep(state, (self._unstacked(free, active, left), active, short, left, common))

    def _with(self, state: int, position: int) -> _Situation:
        """Compute a state from the one before: taking what is free frees nothing."""
        free, active, short, before, common = self._memo.get(state) or self._computed(state)
        left = before.copy()
        members = (position, *positions(self.above[position] & ~active))
        for member in members:
            for place, amount in self._draws[member]:
                left[place] -= amount
                short |= self._too_much(place, left[place])
        active |= self.above[position]
        free &= ~(1 << position | active | self.below[position] | self._blocked(short, active))
        if self._group_masks is not None:
            common = self._group_masks.narrowed(common, members)
            free &= ~self._group_masks.excluded(common, active)
        free = self._unstacked(free, active, left)
        return self._keep(state | 1 << position, (free, active, short, left, common))

    def _draw(self, position: int, left: list[int]) -> None:
        for place, amount in self._draws[position]:
            left[place] -= amount

    def _too_much(self, place: int, left: int) -> int:
        """Return the positions that draw more than ``left`` from the place."""
        known = self._more[place].get(left)
        if known is None:
            known = 0
            for amount, mask in self._ladders[place].items():
                if amount > left:
                    known |= mask
            self._more[place][left] = known
        return known

    def _blocked(self, short: int, active: int) -> int:
        """Return the positions that lack something, or whose idle ancestor does."""
        blocked = short
        for ancestor in positions(short & self._carriers & ~active):
            blocked |= self.below[ancestor]
        return blocked

    def _draws_twice(self, position: int) -> bool:
        """Whether the position and its ancestors meet at a place: then their draws add up."""
        draws = self.structure.draws[position]
        if self.above[position]:
            members = (position, *positions(self.above[position]))
            draws = tuple([draw for member in members for draw in self.structure.draws[member]])
        return len(dict(draws)) < len(draws)

    def _unstacked(self, free: int, active: int, left: list[int]) -> int:
        """Leave out what fits draw by draw, but not with the idle ancestors that it would make real."""
        for position in positions(free & self._stacked):
            rest = left.copy()
            for member in (position, *positions(self.above[position] & ~active)):
                self._draw(member, rest)
            if any(after < 0 and after < before for after, before in zip(rest, left, strict=True)):
                free &= ~(1 << position)
        return free


def _ancestors(structure: Structure) -> tuple[int, ...]:
    """Return the ancestors of each position. Without recursion: a chain may be as long as a pool."""
    if not any(structure.parents):
        return (0,) * len(structure.parents)
    above: dict[int, int] = {}
    for first in range(len(structure.parents)):
        waiting = [first]
        while waiting:
            position = waiting[-1]
            parents = structure.parents[position]
            unknown = [parent for parent in parents if parent not in above]
            if unknown:
                waiting += unknown
                continue
            mask = mask_of(parents)
            for parent in parents:
                mask |= above[parent]
            above[position] = mask
            waiting.pop()
    return tuple(above[position] for position in range(len(above)))


def _descendants(above: tuple[int, ...]) -> tuple[int, ...]:
    below = [0] * len(above)
    for position, ancestors in enumerate(above):
        for ancestor in positions(ancestors) if ancestors else ():
            below[ancestor] |= 1 << position
    return tuple(below)


def _ladders(structure: Structure) -> list[dict[int, int]]:
    """Return, per place, the amounts drawn and the positions that draw each."""
    rungs: list[dict[int, int]] = [{} for _ in structure.room]
    for position, draws in enumerate(structure.draws):
        bit = 1 << position
        for place, amount in draws:
            rung = rungs[place]
            rung[amount] = rung.get(amount, 0) | bit
    return rungs


def _twins(structure: Structure, below: tuple[int, ...]) -> tuple[int, ...]:
    """Return, per position, those that stand for the same thing: equal parents and draws, no parts."""
    groups: dict[object, int] = {}
    keys = [
        position if parts else (parents, draws, structure.modes[position : position + 1])
        for position, (parts, parents, draws) in enumerate(
            zip(below, structure.parents, structure.draws, strict=True)
        )
    ]
    for position, key in enumerate(keys):
        groups[key] = groups.get(key, 0) | 1 << position
    return tuple([groups[key] for key in keys])


def _slots(structure: Structure, ladders: Sequence[Mapping[int, int]]) -> frozenset[int]:
    """Return the places of which all who draw take everything."""
    rungs = enumerate(zip(ladders, structure.room, strict=True))
    return frozenset([place for place, (rung, room) in rungs if len(rung) == 1 and room in rung])
