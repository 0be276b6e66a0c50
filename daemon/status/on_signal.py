"""The signal that asks for the status of a program: SIGUSR1 writes it into the log."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue

from daemon.status.last_errors import NO_ERROR
from daemon.status.page import Status

_log = logging.getLogger(__name__)


def log_on_signal(status: Callable[[], Status]) -> None:
    """Log the status at each SIGUSR1 from now on. Call this in the main thread.

    A thread of its own logs it: a handler runs between any two steps of the main thread.
    """
    came: SimpleQueue[None] = SimpleQueue()

    def tell() -> None:
        while True:
            came.get()
            _tell(status)

    threading.Thread(target=tell, name="status", daemon=True).start()
    signal.signal(signal.SIGUSR1, lambda _number, _frame: came.put(None))


def _tell(status: Callable[[], Status]) -> None:
    try:
        # It was asked for, so it is written at every level.
        level = max(logging.INFO, _log.getEffectiveLevel())
        _log.log(level, "the status of this program:\n%s", status().text().rstrip(), extra=NO_ERROR)
    except Exception:  # noqa: BLE001 - the outermost loop of a thread: the next signal must find it
        _log.exception("the status of this program cannot be told; please report this")
