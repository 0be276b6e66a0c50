"""Which calls into hardware have not returned yet, by the thread that made them.

No thread can be ended from outside. So whoever would wait for a call that hangs learns here what hangs and
for how long, and fails at once instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

HUNG_AFTER_S: Final = 10.0
"""Longer than any call takes that returns: the slowest, a change of the MIG mode, resets the GPU."""


@dataclass(frozen=True, slots=True)
class CallInFlight:
    """A call that was made. Shape: ``what`` for messages. Units: ``age_s`` seconds."""

    what: str
    age_s: float

    @property
    def is_hung(self) -> bool:
        """Whether it is not to be waited for."""
        return self.age_s >= HUNG_AFTER_S

    def __str__(self) -> str:
        return f"{self.what} has not returned for {self.age_s:.0f} s"


class CallsInFlight:
    """The calls of this process. Units: ``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: dict[int, tuple[str, float]] = {}

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """Note the call that this thread makes in the block."""
        thread = threading.get_ident()
        self._began[thread] = (what, self._clock())
        try:
            yield
        finally:
            del self._began[thread]

    def of_thread(self, thread: int) -> CallInFlight | None:
        """Return the call that a thread is in, None where it is in none."""
        found = self._began.get(thread)
        return None if found is None else CallInFlight(found[0], self._clock() - found[1])

    def all(self) -> tuple[CallInFlight, ...]:
        """Return every call, the oldest first."""
        now = self._clock()
        found = sorted(self._began.copy().values(), key=lambda call: call[1])
        return tuple(CallInFlight(what, now - began) for what, began in found)
