"""The time that one call may wait: for locks, for other claims and for the machine, all together.

Takes how long the caller still waits for its answer; clock and sleep are arguments. Nothing outlasts the
caller: a wait ends when it hangs up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

_SHARE: Final = 8 / 9
"""Which part of its caller's time a call may wait; the rest is for the work and the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one call may wait.

    Shape: ``is_wanted`` whether the caller still waits for the answer.
    Units: ``ends_at`` and ``holders_end_at``, when a wait for other claims ends, seconds of ``clock``.
    """

    ends_at: float
    holders_end_at: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    is_wanted: Callable[[], bool]

    @property
    def left_s(self) -> float:
        """Return how many seconds are left."""
        return max(0.0, self.ends_at - self.clock())

    def for_holders(self) -> Budget:
        """Return the part of it that may be spent on waiting for other claims."""
        return replace(self, ends_at=min(self.ends_at, self.holders_end_at))

    def rest(self, seconds: float) -> bool:
        """Sleep a moment and return True; return False at once where the time is up or nobody waits."""
        if self.left_s <= 0 or not self.is_wanted():
            return False
        self.sleep(seconds)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Gives each call its budget.

    Units: seconds of ``clock``: ``wait_s`` for everything together, ``holder_wait_s`` of it for other claims.
    """

    wait_s: float
    holder_wait_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def begin(self, is_wanted: Callable[[], bool] = lambda: True, remaining_s: float | None = None) -> Budget:
        """Begin a call's budget.

        Units: ``remaining_s`` how many seconds the caller waits for the answer, None where it does not say.
        """
        now = self.clock()
        return Budget(
            ends_at=now + waiting_time(self.wait_s, remaining_s),
            holders_end_at=now + self.holder_wait_s,
            clock=self.clock,
            sleep=self.sleep,
            is_wanted=is_wanted,
        )


def waiting_time(wait_s: float, remaining_s: float | None) -> float:
    """Return how long a call may wait, so that time for its answer is left. Units: seconds."""
    return wait_s if remaining_s is None else max(0.0, min(wait_s, remaining_s * _SHARE))
