"""Ends a program some time after a signal asked for it, also where a thread never comes back.

Python waits for its threads before it ends, and runs no signal handler while the main thread is inside a
library. So the kernel writes the signal's number into a pipe, and a thread that does nothing else reads it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from daemon.signals import END_SIGNALS

_STATUS: Final = 0
_TELL_S: Final = 1.0


class EndWithin:
    """Ends the process with status 0. Begin the block in the main thread, after the handlers are set.

    A block that ends without an error does not disarm it: what hangs would keep the process from ending then.
    Shape: ``tell`` logs what is cut off. Units: ``seconds`` from the signal on.
    """

    def __init__(self, seconds: float, tell: Callable[[], None]) -> None:
        self._seconds = seconds
        self._tell = tell
        self._read, self._write = -1, -1
        self._before = -1

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="end", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            signal.set_wakeup_fd(self._before)
            os.close(self._write)  # the thread reads the end of the pipe

    def _watch(self) -> None:
        while not set(numbers := os.read(self._read, 64)) & set(END_SIGNALS):
            if not numbers:
                os.close(self._read)
                return
        time.sleep(self._seconds)
        telling = threading.Thread(target=self._tell, daemon=True)
        telling.start()
        telling.join(_TELL_S)  # a log that nobody reads must not hold it up
        os._exit(_STATUS)
