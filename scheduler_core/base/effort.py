"""How much was searched, as a number that tests can hold on to, and a bound where a guess will do."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


class TooMuch(Exception):
    """More was searched than was allowed."""


@dataclass(slots=True)
class Effort:
    """Shape: ``steps`` devices tried, vectors of counts joined; tables looked up do not count; ``most`` the
    number of steps after which no more may be taken.
    """

    steps: int = 0
    most: float = inf

    def step(self) -> None:
        """Count a step. Raises: TooMuch."""
        self.steps += 1
        if self.steps > self.most:
            raise TooMuch
