"""Sets of count vectors as the bits of one integer.

A vector says how many devices of each column are wanted. Every vector up to given counts has a number (mixed
radix), and that is its bit. The sets are closed downwards: with a vector they contain every smaller one.
Adding a vector to all members of a set takes a few shifts, whatever the number of members. So adding up what
the components of a node can give takes time that does not depend on the number of orders.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from scheduler_core.engine.solve.component_view import Counts
from scheduler_core.tables.bits import positions

LARGEST: Final = 1 << 16
"""The most vectors that a set may have bits for."""
NOTHING: Final = 1
"""The set of the zero vector alone."""


def size_of(counts: Counts) -> int:
    """Return how many vectors there are up to ``counts``."""
    size = 1
    for count in counts:
        size *= count + 1
    return size


class VectorSpace:
    """All vectors up to ``counts``."""

    __slots__ = ("_keep", "_lowest", "_repeat", "_strides", "counts", "full")

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        total = size_of(counts)
        self.full = total - 1
        strides, stride = [], 1
        for count in counts:
            strides.append(stride)
            stride *= count + 1
        self._strides = tuple(strides)
        self._keep: list[tuple[int, ...]] = []
        self._lowest: list[int] = []
        self._repeat: list[tuple[int, ...]] = []
        for count, stride in zip(counts, strides, strict=True):
            period = stride * (count + 1)
            periods = _repeated(total // period, period)
            self._keep.append(
                tuple(((1 << stride * (count + 1 - step)) - 1) * periods for step in range(count + 1))
            )
            self._lowest.append(((1 << stride) - 1) * periods)
            self._repeat.append(tuple(_repeated(step, stride) for step in range(count + 1)))

    def holds_all(self, found: int) -> bool:
        """Whether a set has the largest vector, and therefore all vectors."""
        return bool(found >> self.full & 1)

    def raised(self, found: int, vector: Counts) -> int:
        """Return the set of all vectors that exceed a member by at most ``vector``."""
        for axis, step in enumerate(vector):
            if step:
                moved = (found & self._keep[axis][step]) << step * self._strides[axis]
                found = moved | (found & self._lowest[axis]) * self._repeat[axis][step]
        return found

    def joined(self, found: int, vectors: Iterable[Counts]) -> int:
        """Return all sums of a member of ``found`` and a vector that is under one of ``vectors``."""
        sums = 0
        for vector in vectors:
            sums |= self.raised(found, vector)
        return sums

    def largest(self, found: int) -> tuple[Counts, ...]:
        """Return the largest vectors of a set: no member is larger."""
        tops = found
        for axis, stride in enumerate(self._strides):
            tops &= ~((found & ~self._lowest[axis]) >> stride)
        return tuple(self._vector(number) for number in positions(tops))

    def _vector(self, number: int) -> Counts:
        vector = []
        for count in self.counts:
            number, digit = divmod(number, count + 1)
            vector.append(digit)
        return tuple(vector)


@lru_cache(maxsize=64)
def space_of(counts: Counts) -> VectorSpace:
    """Return the vectors up to some counts. Equal counts share one object."""
    return VectorSpace(counts)


def _repeated(times: int, distance: int) -> int:
    """Return ``times`` bits, ``distance`` apart, from bit 0 on."""
    return ((1 << times * distance) - 1) // ((1 << distance) - 1) if times else 0
