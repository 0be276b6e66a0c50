"""Which calls into hardware have not returned yet, by the thread that made them.

No thread can be ended from outside. So whoever would wait for a call that hangs learns here what hangs and
for how long, and fails at once instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import get_ident
from typing import Final

HUNG_AFTER_S: Final = 10.0
"""Longer than a call to a GPU driver takes: the slowest, a change of the MIG mode, resets the GPU."""


@dataclass(frozen=True, slots=True)
class CallInFlight:
    """A call that was made. Shape: ``what`` for messages. Units: seconds."""

    what: str
    age_s: float
    hung_after_s: float

    @property
    def is_hung(self) -> bool:
        """Whether it is not to be waited for."""
        return self.age_s >= self.hung_after_s

    def __str__(self) -> str:
        return f"{self.what} has not returned for {self.age_s:.0f} s"


class NotedCalls:
    """The block of calls of one name, for any number of calls and threads.

    A claim makes a dozen calls. A block for each of them, or a generator, would cost each twice as much.
    """

    __slots__ = ("_began", "_clock", "_hung_after_s", "_what")

    def __init__(
        self,
        began: dict[int, tuple[float, str, float]],
        clock: Callable[[], float],
        what: str,
        hung_after_s: float,
    ) -> None:
        self._began, self._clock, self._what, self._hung_after_s = began, clock, what, hung_after_s

    def __enter__(self) -> None:
        self._began[get_ident()] = (self._clock(), self._what, self._hung_after_s)

    def __exit__(self, *_error: object) -> None:
        del self._began[get_ident()]


class CallsInFlight:
    """The calls of this process. Units: ``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: dict[int, tuple[float, str, float]] = {}

    def noted(self, what: str, hung_after_s: float = HUNG_AFTER_S) -> NotedCalls:
        """Return a ``with`` block that notes the call which its thread makes in it. It may be used again.

        Units: ``hung_after_s`` after how many seconds it counts as hung.
        """
        return NotedCalls(self._began, self._clock, what, hung_after_s)

    def of_thread(self, thread: int) -> CallInFlight | None:
        """Return the call that a thread is in, None where it is in none."""
        found = self._began.get(thread)
        return None if found is None else self._in_flight(*found)

    def all(self) -> tuple[CallInFlight, ...]:
        """Return every call, the oldest first."""
        return tuple(self._in_flight(*call) for call in sorted(self._began.copy().values()))

    def _in_flight(self, began_at: float, what: str, hung_after_s: float) -> CallInFlight:
        return CallInFlight(what, self._clock() - began_at, hung_after_s)
