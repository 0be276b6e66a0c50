"""The signals that ask a program to end: SIGTERM from a kubelet, SIGINT from a terminal."""

from __future__ import annotations

import signal
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType
from typing import Final

END_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class EndSignal:
    """Waits for an end signal; make it in the main thread. From then on no signal is missed.

    A threading.Event would not do: its ``set`` takes a lock that the main thread holds for a moment when it
    begins to wait, so a handler that runs just then would wait for itself for ever. ``put`` of a SimpleQueue
    may be called again while it runs.
    """

    def __init__(self) -> None:
        self._came: SimpleQueue[None] = SimpleQueue()
        on_end(lambda: self._came.put(None))

    def wait(self) -> None:
        """Return when a signal has come."""
        self._came.get()


def on_end(stop: Callable[[], object]) -> None:
    """Call ``stop`` at each end signal from now on. Call this in the main thread.

    ``stop`` takes no lock that the main thread takes too: it runs between any two steps of the main thread.
    """
    set_handler(lambda _number, _frame: stop())


def set_handler(handler: Callable[[int, FrameType | None], object]) -> None:
    """Set the handler of every end signal."""
    for number in END_SIGNALS:
        signal.signal(number, handler)
