"""How soon to do again what keeps being undone, and how long to wait after a failure. Pure arithmetic.

The first time is prompt: a kubelet that starts deletes every slice of its node, and pods wait for them.
Whoever keeps on deleting them is answered ever more slowly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Pace:
    """When the next turn may come.

    Units: seconds; ``first`` is the usual wait, which doubles up to ``most`` while turns follow each
           other within ``calm`` of the last one's end.
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

    def taken(self, now: float) -> Pace:
        """Return the pace after a turn at ``now``."""
        is_calm = self.last is None or now - self.last > self.calm
        gap = self.first if is_calm else min(self.most, max(self.gap, self.first) * 2)
        return replace(self, gap=gap, last=now)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait after failures in a row. Units: seconds."""

    first: float = 0.5
    most: float = 10.0
    failures: int = 0

    def failed(self) -> Backoff:
        """Return the state after one more failure."""
        return replace(self, failures=self.failures + 1)

    def wait(self, spread: float, least: float = 0.0) -> float:
        """Return the wait; ``spread`` in 0..1 keeps many agents from coming back at once.

        Shape: ``least`` is what the server asked for, or what mending takes anyway.
        """
        doubled = min(self.most, self.first * 2.0 ** min(max(0, self.failures - 1), 32))
        return max(doubled * (0.5 + spread / 2), least)
