"""Whether pairs decide: of devices that draw from one source, every set in which each two fit must fit whole.

Takes amounts; returns a set that breaks this, or None. Sets are looked at one by one, up to a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from scheduler_core.base.quantity import Quantity

_MOST_SETS: Final = 100_000

_Vector = tuple[int, ...]


def misfit(
    amounts: Sequence[Mapping[str, Quantity]], supply: Mapping[str, Quantity], is_uncharged: Sequence[bool]
) -> tuple[int, ...] | None:
    """Return the indices of devices of which each two fit, and that together do not; None where none do.

    Only sets with a device that ``is_uncharged`` count, whose other devices fit alone: what is charged is
    counted anyway. Shape: empty where more sets were found than are looked at.
    """
    names = sorted({name for one in amounts for name in one})
    vectors = tuple(tuple(one[name].nano if name in one else 0 for name in names) for one in amounts)
    return _misfit(vectors, tuple(supply[name].nano for name in names), tuple(is_uncharged))


@lru_cache(maxsize=64)  # the GPUs of a node are alike
def _misfit(vectors: tuple[_Vector, ...], supply: _Vector, free: tuple[bool, ...]) -> tuple[int, ...] | None:
    fits = [_mask(vectors, supply, index) for index in range(len(vectors))]
    nothing = (0,) * len(supply)
    stack: list[tuple[tuple[int, ...], int, _Vector, _Vector]] = [
        ((), (1 << len(vectors)) - 1, nothing, nothing)
    ]
    seen = 0
    while stack:
        chosen, candidates, total, charged = stack.pop()
        seen += 1
        if seen > _MOST_SETS:
            return ()
        for index in _bits(candidates):
            with_it = _sum(total, vectors[index])
            paid = charged if free[index] else _sum(charged, vectors[index])
            if _exceeds(paid, supply):
                continue
            if _exceeds(with_it, supply):
                return (*chosen, index)
            left = candidates & fits[index] & ~((2 << index) - 1)
            if left:
                stack.append(((*chosen, index), left, with_it, paid))
    return None


def _mask(vectors: tuple[_Vector, ...], supply: _Vector, index: int) -> int:
    """Return the bits of the devices that fit beside one."""
    return sum(
        1 << other
        for other, vector in enumerate(vectors)
        if other != index and not _exceeds(_sum(vector, vectors[index]), supply)
    )


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _sum(one: _Vector, other: _Vector) -> _Vector:
    return tuple(map(int.__add__, one, other))


def _exceeds(total: _Vector, supply: _Vector) -> bool:
    return any(map(int.__gt__, total, supply))
