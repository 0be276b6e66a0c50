"""Modes: what all users of a source must have in common, such as a way in which a chip is set up.

A device lists the modes in which it can be used; what it is cut from becomes real with it and counts as
well. Rule S10 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scheduler_core.engine.bits import positions
from scheduler_core.engine.structure import Places

_ANY: Final = -1


class Modes:
    """The modes of one structure.

    Shape: ``all`` what the users of each source have in common as long as there are none.
    """

    __slots__ = ("_excluded", "_needs", "_own", "all")

    def __init__(self, modes: tuple[Places, ...], above: tuple[int, ...]) -> None:
        numbers: dict[int, int] = {}
        for mine in modes:
            for source, _ in mine:
                numbers.setdefault(source, len(numbers))
        self._own = tuple(tuple((numbers[source], mask) for source, mask in mine) for mine in modes)
        self.all = (_ANY,) * len(numbers)
        self._needs: list[dict[int, int]] = [{} for _ in numbers]
        for position in range(len(modes)):
            for member in (position, *positions(above[position])):
                for number, mask in self._own[member]:
                    needs = self._needs[number]
                    needs[position] = needs.get(position, _ANY) & mask
        self._excluded: list[dict[int, int]] = [{} for _ in numbers]

    def narrowed(self, common: tuple[int, ...], members: Iterable[int]) -> tuple[int, ...]:
        """Return what is left in common once some positions are in use too."""
        found = list(common)
        for member in members:
            for number, mask in self._own[member]:
                found[number] &= mask
        return tuple(found)

    def excluded(self, common: tuple[int, ...]) -> int:
        """Return the positions that have no mode in common with what is in use."""
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
