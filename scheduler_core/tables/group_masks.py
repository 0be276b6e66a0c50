"""Compatibility groups of one structure: all devices in use of a source must have one group in common.

A compatibility group stands for one way to set up a chip. When a device is taken, the devices that it is
cut from come into use with it, so their groups count too. Rule S10 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.structure import SourceMasks

_ANY: Final = -1  # all bits set: every group is still possible


class GroupMasks:
    """Which positions the compatibility groups exclude.

    Shape: ``all`` has, per source that declares groups, the groups that its users have in common while
           there are no users: every group.
    """

    __slots__ = ("_above", "_excluded", "_needs", "_own", "all")

    def __init__(self, compatibility: tuple[SourceMasks, ...], above: tuple[int, ...]) -> None:
        numbers: dict[int, int] = {}
        for mine in compatibility:
            for source, _ in mine:
                numbers.setdefault(source, len(numbers))
        self._own = tuple(tuple((numbers[source], mask) for source, mask in mine) for mine in compatibility)
        self.all = (_ANY,) * len(numbers)
        self._above = above
        self._needs: list[dict[int, int]] = [{} for _ in numbers]
        for position in range(len(compatibility)):
            for number, mask in self._needed(position, 0).items():
                self._needs[number][position] = mask
        self._excluded: list[dict[int, int]] = [{} for _ in numbers]

    def narrowed(self, common: tuple[int, ...], members: Iterable[int]) -> tuple[int, ...]:
        """Return the common groups of each source once some more positions are in use."""
        found = list(common)
        for member in members:
            for number, mask in self._own[member]:
                found[number] &= mask
        return tuple(found)

    def _needed(self, position: int, active: int) -> dict[int, int]:
        """Return, per source, the groups that suit a position and its ancestors that are not in use yet."""
        needs: dict[int, int] = {}
        for member in (position, *positions(self._above[position] & ~active)):
            for number, mask in self._own[member]:
                needs[number] = needs.get(number, _ANY) & mask
        return needs

    def excluded(self, common: tuple[int, ...], active: int) -> int:
        """Return the positions that have no group in common with what is in use.

        Shape: ``common`` as ``narrowed`` returns it; ``active`` are the ancestors in use, as a mask.
        """
        if 0 in common:
            # Claims hold devices that are not compatible. An ancestor in use then excludes no part of it.
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
