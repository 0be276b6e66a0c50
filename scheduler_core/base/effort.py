"""Counts the work of a decision in steps, and ends it at a bound.

A step is a device tried, or a vector of counts joined; looking something up in a table is none. Steps are
counted rather than timed, so equal questions give equal answers on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass

DECISION: Final = 10_000
"""Steps that one decision on one node may take: a few tenths of a second at most."""


class EffortExceeded(Exception):
    """A search took more steps than it may. Shape: ``limit`` the number of steps that were allowed."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        super().__init__(f"no answer within {limit:,.0f} steps")


@dataclass(slots=True)
class Effort:
    """A counter of steps.

    Shape: ``steps`` taken so far; ``most`` the count that no step may pass.
    """

    steps: int = 0
    most: float = inf

    def step(self, count: int = 1) -> None:
        """Count some steps. Raises: EffortExceeded."""
        self.steps += count
        if self.steps > self.most:
            raise EffortExceeded(self.most)

    @contextmanager
    def within(self, limit: float) -> Iterator[None]:
        """Allow at most ``limit`` further steps, or fewer where an outer bound leaves fewer."""
        outer, first = self.most, self.steps
        self.most = min(outer, first + limit)
        try:
            yield
        except EffortExceeded as exceeded:
            raise EffortExceeded(min(exceeded.limit, limit)) from None
        finally:
            self.most = outer
