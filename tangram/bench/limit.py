"""A time limit for a block of code, by the timer of the main thread. Limits do not nest."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeIsUp(BaseException):
    """The limit has struck; no error that the core might take for its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Cut the block off after some seconds. Raises: TimeIsUp."""
    previous = signal.signal(signal.SIGALRM, _strike)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _strike(_signal: int, _frame: FrameType | None) -> None:
    raise TimeIsUp
