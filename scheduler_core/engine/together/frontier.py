"""The largest count vectors of a node: every smaller vector fits there too, and no larger one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scheduler_core.engine.together.values import Counts

Most = Callable[[Counts, int, int], int]
"""How many units of a shape fit beside counts that have none of it, up to a limit."""


def some_largest(most: Most, limits: Counts) -> tuple[Counts, ...]:
    """Return some of the largest vectors: each shape comes first in one, with as many units as fit."""
    shapes = range(len(limits))
    return largest(_filled(most, limits, (*shapes[first:], *shapes[:first])) for first in shapes)


def all_largest(most: Most, limits: Counts) -> tuple[Counts, ...]:
    """Return all the largest vectors. Shape: the one with the most units first."""
    return largest(_vectors(most, limits, (0,) * len(limits), 0))


def largest(vectors: Iterable[Counts]) -> tuple[Counts, ...]:
    """Return the vectors that no other one of them covers, those with the most units first."""
    found: list[Counts] = []
    for vector in sorted(set(vectors), key=lambda one: (-sum(one), tuple(-count for count in one))):
        if not any(covers(other, vector) for other in found):
            found.append(vector)
    return tuple(found)


def covers(larger: Counts, smaller: Counts) -> bool:
    """Whether a vector has at least as many units of every shape as another."""
    return all(more >= less for more, less in zip(larger, smaller, strict=True))


def _filled(most: Most, limits: Counts, order: Counts) -> Counts:
    found = (0,) * len(limits)
    for shape in order:
        found = _with(found, shape, most(found, shape, limits[shape]))
    return found


def _vectors(most: Most, limits: Counts, found: Counts, shape: int) -> Iterator[Counts]:
    if shape == len(limits):
        yield found
        return
    top = most(found, shape, limits[shape])
    if shape == len(limits) - 1:
        yield _with(found, shape, top)
        return
    for count in range(top, -1, -1):
        yield from _vectors(most, limits, _with(found, shape, count), shape + 1)


def _with(counts: Counts, shape: int, count: int) -> Counts:
    return (*counts[:shape], count, *counts[shape + 1 :])
