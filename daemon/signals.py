"""The signals that ask a program to end: SIGTERM from a kubelet, SIGINT from a terminal."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

END_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def on_end(stop: Callable[[], object]) -> None:
    """Call ``stop`` at each end signal from now on. Call this in the main thread."""
    set_handler(lambda _number, _frame: stop())


def set_handler(handler: Callable[[int, FrameType | None], object]) -> None:
    """Set the handler of every end signal."""
    for number in END_SIGNALS:
        signal.signal(number, handler)
