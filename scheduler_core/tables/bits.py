"""Sets of small numbers, stored as the bits of one integer (a mask)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def positions(mask: int) -> Iterator[int]:
    """Yield the numbers in a mask, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def mask_of(numbers: Iterable[int]) -> int:
    """Return the mask of some numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask
