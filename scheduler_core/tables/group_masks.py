"""GroupMasks: what all users of a source must have in common, such as a way in which a chip is set up.

A device lists the modes in which it can be used; what it is cut from becomes real with it and counts as
well. Rule S10 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.structure import Places

_ANY: Final = -1


class GroupMasks:
    """The modes of one structure.

    Shape: ``all`` what the users of each source have in common as long as there are none.
    """

    __slots__ = ("_above", "_excluded", "_needs", "_own", "all")

    def __init__(self, modes: tuple[Places, ...], above: tuple[int, ...]) -> None:
        numbers: dict[int, int] = {}
        for mine in modes:
            for source, _ in mine:
                numbers.setdefault(source, len(numbers))
        self._own = tuple(tuple((numbers[source], mask) for source, mask in mine) for mine in modes)
        self.all = (_ANY,) * len(numbers)
        self._above = above
        self._needs: list[dict[int, int]] = [{} for _ in numbers]
        for position in range(len(modes)):
            for number, mask in self._needed(position, 0).items():
                self._needs[number][position] = mask
        self._excluded: list[dict[int, int]] = [{} for _ in numbers]

    def narrowed(self, common: tuple[int, ...], members: Iterable[int]) -> tuple[int, ...]:
        """Return what is left in common once some positions are in use too."""
        found = list(common)
        for member in members:
            for number, mask in self._own[member]:
                found[number] &= mask
        return tuple(found)

    def _needed(self, position: int, active: int) -> dict[int, int]:
        """Return the modes in which the position can be used with the ancestors that it makes real."""
        needs: dict[int, int] = {}
        for member in (position, *positions(self._above[position] & ~active)):
            for number, mask in self._own[member]:
                needs[number] = needs.get(number, _ANY) & mask
        return needs

    def excluded(self, common: tuple[int, ...], active: int) -> int:
        """Return the positions that have no mode in common with what is in use: ``active`` ancestors too."""
        if 0 in common:
            # Claims hold what cannot be together. Ancestors in use are then no reason to refuse a part.
            return mask_of(
                position
                for position in range(len(self._own))
                if any(not mask & common[number] for number, mask in self._needed(position, active).items())
            )
        found = 0
        for number, left in enumerate(common):
            known = self._excluded[number].get(left)
            if known is None:
                known = 0
                for position, mask in self._needs[number].items():
                    if not mask & left:
                        known |= 1 << position
                self._excluded[number][left] = known
            found |= known
        return found
