"""The work of one evaluation, counted while it is done.

Kubernetes admits an expression by an estimate of its cost. The estimate can be far too low: it counts the
comparison of two lists as one unit, whatever the lists contain. So every evaluation here counts what it
really does, and ends with an error at one bound. The count depends on the expression and the device alone,
not on the machine, the clock or what is remembered from earlier evaluations.
See docs/decisions/0037-cel-budget.md.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.cel.errors import WorkExceeded

WORK_LIMIT: Final = 2_000_000
"""The most units of work that one evaluation, or one compilation, may take.

Units: a unit takes at most a tenth of a microsecond and four bytes of memory. To evaluate a node,
       to write a character and to read sixteen is one unit, to compare two values eight, to make an element
       of a list sixteen.
"""
ELEMENT: Final = 16
ENTRY: Final = 32
_REFERENCE: Final = 2
_READ: Final = 4  # bits: sixteen characters are read for one unit
_COMPARED: Final = 6  # bits: sixty-four pairs of characters are compared for one unit
_TOO_MUCH: Final = f"it takes more than {WORK_LIMIT} units of work"
MAX_DEPTH: Final = 100
"""The most levels of lists and maps inside each other that a function walks through."""


class Work:
    """What is left of the work of one evaluation.

    Every method raises WorkExceeded when nothing is left, before the work is done.
    """

    __slots__ = ("left",)

    def __init__(self, left: int = WORK_LIMIT) -> None:
        self.left = left

    def spend(self, units: int) -> None:
        """Count some units."""
        self.left -= units
        if self.left < 0:
            raise WorkExceeded(_TOO_MUCH)

    def read(self, length: int) -> None:
        """Count the reading of a text of some length."""
        self.left -= length >> _READ
        if self.left < 0:
            raise WorkExceeded(_TOO_MUCH)

    def search(self, text: int, part: int) -> None:
        """Count the search for a part of some length in a text of some length."""
        self.left -= (text >> _READ) + (text * part >> _COMPARED)
        if self.left < 0:
            raise WorkExceeded(_TOO_MUCH)

    def write(self, length: int) -> None:
        """Count a new text of some length."""
        self.left -= length
        if self.left < 0:
            raise WorkExceeded(_TOO_MUCH)

    def copy(self, count: int) -> None:
        """Count a new list of elements that exist already."""
        self.spend(count * _REFERENCE)

    def make(self, count: int) -> None:
        """Count a new list of new elements."""
        self.spend(count * ELEMENT)

    def descend(self, depth: int) -> None:
        """Count one visited value, that many levels inside the first one."""
        self.spend(1)
        if depth > MAX_DEPTH:
            raise WorkExceeded(f"it walks through more than {MAX_DEPTH} nested lists or maps")


class _Unlimited(Work):
    """Counts nothing."""

    __slots__ = ()

    def spend(self, units: int) -> None:
        """Count nothing."""

    def read(self, length: int) -> None:
        """Count nothing."""

    def write(self, length: int) -> None:
        """Count nothing."""

    def search(self, text: int, part: int) -> None:
        """Count nothing."""


BOUNDED: Final = _Unlimited()
"""For a function whose work is bounded by a literal argument, which the compiler has counted already."""
