"""Errors that nobody expected: logged once with their traceback, counted, and survived.

Takes exceptions; says how long to wait before the work is tried again. Safe between threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from controller.metrics import Metrics
from daemon.backoff import Backoff

_log: Final = logging.getLogger("controller")
_REMEMBERED: Final = 1000  # different errors, of which each is logged once
_BACKOFF: Final = Backoff(first=1.0, most=60.0)


class Surprises:
    """What came up so far. Units: ``clock`` in seconds, monotonic."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._clock = clock
        self._logged: set[tuple[str, str]] = set()
        self._backoff = _BACKOFF
        self._paused_until = clock()
        self._well_at = clock()

    def met(self, error: Exception, of: str, about: str) -> None:
        """Note an error of one change, decision or write. Shape: ``of`` is one of few words."""
        self._metrics.count("unforeseen_failures_total", of=of)
        key = (of, f"{type(error).__name__}: {error}")
        if key not in self._logged and len(self._logged) < _REMEMBERED:
            self._logged.add(key)
            text = "unexpected error with %s; everything else goes on; please report this"
            _log.error(text, about, exc_info=error)

    def stopped(self, error: Exception) -> None:
        """Note that a turn of the loop ended early: nothing is decided for a time that grows."""
        self.met(error, "turn", "a turn of the loop")
        self._backoff = self._backoff.failed()
        self._paused_until = self._clock() + self._backoff.wait(1.0)

    def went_well(self) -> None:
        """Note that a turn went through."""
        if self._clock() >= self._paused_until:
            self._well_at = self._clock()
            self._backoff = _BACKOFF

    @property
    def is_pausing(self) -> bool:
        """Whether nothing is to be decided now."""
        return self._clock() < self._paused_until

    def unwell_s(self) -> float:
        """Return how many seconds ago a turn last went through."""
        return self._clock() - self._well_at
