"""How long to wait before repeating an action: after a failure, or if another program keeps undoing it.

Pure arithmetic on seconds. Time and randomness are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Throttle:
    """Limits how often a turn is taken: promptly the first time, ever more rarely while turns are frequent.

    Units: seconds; ``first`` is the usual delay of a turn. The gap between turns doubles up to ``most``
           while each turn comes within ``calm`` of the one before.
    """

    first: float
    most: float
    calm: float
    gap: float = 0.0
    last: float | None = None

    def due(self, now: float) -> float:
        """Return when a turn that is wanted now may be taken."""
        if self.last is None or now - self.last > self.calm:
            return now + self.first
        return max(now + self.first, self.last + self.gap)

    def taken(self, now: float) -> Throttle:
        """Return the state after a turn at ``now``."""
        is_calm = self.last is None or now - self.last > self.calm
        gap = self.first if is_calm else min(self.most, max(self.gap, self.first) * 2)
        return replace(self, gap=gap, last=now)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait after failures in a row: twice as long each time, up to ``most``. Units: seconds."""

    first: float = 0.5
    most: float = 10.0
    failures: int = 0

    def failed(self) -> Backoff:
        """Return the state after one more failure."""
        return replace(self, failures=self.failures + 1)

    def wait(self, spread: float = 1.0, least: float = 0.0) -> float:
        """Return how long to wait.

        Shape: ``spread`` is a random number from 0 to 1, so that many programs that failed together do not
               all come back together; 1 gives the full wait. ``least`` is a lower bound that somebody
               else set, such as the server.
        """
        doubled = min(self.most, self.first * 2.0 ** min(max(0, self.failures - 1), 32))
        return max(doubled * (0.5 + spread / 2), least)
