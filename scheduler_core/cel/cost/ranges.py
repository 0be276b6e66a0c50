"""Ranges of sizes and costs. Amounts saturate at the largest number of 64 bits, as upstream's do."""

from __future__ import annotations

import math
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass

LARGEST: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """From ``low`` to ``high``. Units: elements of a list or map, characters, bytes; or cost units."""

    low: int
    high: int

    def __add__(self, other: Range) -> Range:
        return Range(min(self.low + other.low, LARGEST), min(self.high + other.high, LARGEST))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.low * other.low, LARGEST), min(self.high * other.high, LARGEST))

    def __or__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))

    def scaled(self, factor: float) -> Range:
        """Return the range times a factor, rounded up."""
        return Range(scaled(self.low, factor), scaled(self.high, factor))


def scaled(amount: int, factor: float) -> int:
    """Return an amount times a factor, rounded up. In doubles, as upstream counts."""
    product = math.ceil(float(amount) * factor)
    return LARGEST if product >= 2**64 else product


def exactly(amount: int) -> Range:
    """Return the range of one number."""
    return Range(amount, amount)


NOTHING: Final = exactly(0)
ONE: Final = exactly(1)
UNKNOWN: Final = Range(0, LARGEST)
"""The size of a value of unknown size."""
EMPTY: Final = Range(LARGEST, 0)
"""The union of no ranges."""
