"""Occupancy tables: which devices of a component are free, for every set of devices in use (rules S1 to S8).

The *state* of a component is the mask of the positions in use. What follows from a state is computed once
and kept; all components of the cluster with this structure share it. A state may be overdrawn: by
mistake, claims may hold more than there is. Then the amount left is negative, and the answers still equal the
ledger's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.group_masks import GroupMasks
from scheduler_core.tables.structure import Structure

_MEMORY: Final = 1 << 20  # integers kept per structure before its tables are cleared
Common = tuple[int, ...]
_Derived = tuple[int, int, int, list[int], Common]
"""What follows from a state: the free positions; the ancestors in use; the positions for which some counter
has too little left; what is left of each counter; the compatibility groups that the users of each source have
in common.
"""


class OccupancyTables:
    """The tables of one structure.

    Shape: ``above`` and ``below`` have the ancestors and descendants of each position, as masks; ``twins``
           the interchangeable positions of each position, itself included: swapping two of them changes
           nothing; ``whole_counters`` the counters of which every device that draws takes the total, such
           as one memory slice.
    """

    __slots__ = (
        "_drawing_parents",
        "_draws",
        "_group_masks",
        "_limit",
        "_memo",
        "_needing_more",
        "_positions_by_amount",
        "_summed",
        "above",
        "below",
        "everything",
        "size",
        "structure",
        "twins",
        "whole_counters",
    )  # fmt: skip

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.size = len(structure.parents)
        self.everything = (1 << self.size) - 1
        self.above = _ancestors(structure)
        self.below = _descendants(self.above)
        self.twins = _twins(structure, self.below)
        self._draws = structure.draws
        self._drawing_parents = mask_of([p for p in range(self.size) if self.below[p] and structure.draws[p]])
        self._summed = mask_of([p for p in range(self.size) if self._sums_draws(p)])
        self._positions_by_amount = _positions_by_amount(structure)
        self.whole_counters = _whole_counters(structure, self._positions_by_amount)
        self._needing_more: list[dict[int, int]] = [{} for _ in structure.totals]
        self._memo: dict[int, _Derived] = {}
        self._group_masks = (
            GroupMasks(structure.compatibility, self.above) if structure.compatibility else None
        )
        self._limit = max(256, _MEMORY // (self.size + len(structure.totals)))

    def free(self, state: int) -> int:
        """Return the positions that can be taken in a state, as a mask."""
        found = self._memo.get(state)
        return found[0] if found is not None else self._computed(state)[0]

    def free_after(self, state: int, position: int) -> int:
        """Return the free positions after ``position``, which is free in ``state``, is taken."""
        found = self._memo.get(state | 1 << position)
        return found[0] if found is not None else self._with(state, position)[0]

    def left(self, state: int) -> list[int]:
        """Return what is left of each counter. Units: steps of the counter. Do not change the list."""
        return (self._memo.get(state) or self._computed(state))[3]

    def _keep(self, state: int, derived: _Derived) -> _Derived:
        if len(self._memo) >= self._limit:
            self._memo.clear()
        self._memo[state] = derived
        return derived

    def _computed(self, state: int) -> _Derived:
        """Compute a state without another one to start from. The state may be overdrawn."""
        left = list(self.structure.totals)
        active = under = 0
        for position in positions(state):
            active |= self.above[position]
            under |= self.below[position]
            self._draw(position, left)
        for position in positions(active):
            self._draw(position, left)
        short = 0
        for counter, amount in enumerate(left):
            short |= self._positions_needing_more(counter, amount)
        common: Common = ()
        free = self.everything & ~(state | active | under | self._blocked(short, active))
        if self._group_masks is not None:
            common = self._group_masks.narrowed(self._group_masks.all, positions(state | active))
            free &= ~self._group_masks.excluded(common, active)
        return self._keep(state, (self._without_overdraws(free, active, left), active, short, left, common))

    def _with(self, state: int, position: int) -> _Derived:
        """Compute a state from the state before. This is faster: taking a free position frees no other."""
        free, active, short, before, common = self._memo.get(state) or self._computed(state)
        left = before.copy()
        members = (position, *positions(self.above[position] & ~active))
        for member in members:
            for counter, amount in self._draws[member]:
                left[counter] -= amount
                short |= self._positions_needing_more(counter, left[counter])
        active |= self.above[position]
        free &= ~(1 << position | active | self.below[position] | self._blocked(short, active))
        if self._group_masks is not None:
            common = self._group_masks.narrowed(common, members)
            free &= ~self._group_masks.excluded(common, active)
        free = self._without_overdraws(free, active, left)
        return self._keep(state | 1 << position, (free, active, short, left, common))

    def _draw(self, position: int, left: list[int]) -> None:
        for counter, amount in self._draws[position]:
            left[counter] -= amount

    def _positions_needing_more(self, counter: int, left: int) -> int:
        """Return the positions that draw more than ``left`` from a counter."""
        known = self._needing_more[counter].get(left)
        if known is None:
            known = 0
            for amount, mask in self._positions_by_amount[counter].items():
                if amount > left:
                    known |= mask
            self._needing_more[counter][left] = known
        return known

    def _blocked(self, short: int, active: int) -> int:
        """Return the positions for which too little is left.

        Too little may also be left for an ancestor that is not in use yet and would come into use with them.
        """
        blocked = short
        for ancestor in positions(short & self._drawing_parents & ~active):
            blocked |= self.below[ancestor]
        return blocked

    def _sums_draws(self, position: int) -> bool:
        """Whether a position and its ancestors draw twice from one counter: then the draws add up."""
        draws = self.structure.draws[position]
        if self.above[position]:
            members = (position, *positions(self.above[position]))
            draws = tuple([draw for member in members for draw in self.structure.draws[member]])
        return len(dict(draws)) < len(draws)

    def _without_overdraws(self, free: int, active: int, left: list[int]) -> int:
        """Leave out the positions whose summed draws overdraw a counter though each single draw fits.

        The sum has the draws of the position and of the ancestors that would come into use with it.
        """
        for position in positions(free & self._summed):
            rest = left.copy()
            for member in (position, *positions(self.above[position] & ~active)):
                self._draw(member, rest)
            if any(after < 0 and after < before for after, before in zip(rest, left, strict=True)):
                free &= ~(1 << position)
        return free


def _ancestors(structure: Structure) -> tuple[int, ...]:
    """Return the ancestors of each position. No recursion: a chain may be as long as the pool."""
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


def _positions_by_amount(structure: Structure) -> list[dict[int, int]]:
    """Return, per counter, the amounts that are drawn and the positions that draw each amount."""
    found: list[dict[int, int]] = [{} for _ in structure.totals]
    for position, draws in enumerate(structure.draws):
        bit = 1 << position
        for counter, amount in draws:
            masks = found[counter]
            masks[amount] = masks.get(amount, 0) | bit
    return found


def _twins(structure: Structure, below: tuple[int, ...]) -> tuple[int, ...]:
    """Return, per position, the positions that are interchangeable with it.

    They have equal parents, draws and compatibility groups, and nothing is cut from them.
    """
    groups: dict[object, int] = {}
    keys = [
        position if parts else (parents, draws, structure.compatibility[position : position + 1])
        for position, (parts, parents, draws) in enumerate(
            zip(below, structure.parents, structure.draws, strict=True)
        )
    ]
    for position, key in enumerate(keys):
        groups[key] = groups.get(key, 0) | 1 << position
    return tuple([groups[key] for key in keys])


def _whole_counters(structure: Structure, by_amount: Sequence[Mapping[int, int]]) -> frozenset[int]:
    """Return the counters of which every device that draws takes the total, and that is more than nothing."""
    pairs = enumerate(zip(by_amount, structure.totals, strict=True))
    return frozenset([counter for counter, (masks, total) in pairs if total and list(masks) == [total]])
