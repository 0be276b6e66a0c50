"""Log lines of a call, written once its answer is out.

A line on a container's output wakes the container's shim and the runtime's daemon, which then compete with
the call for the node's processors. So a line that a thread logs within a call is kept until the call ends; it
has the time at which it was logged. A warning is written at once, after the lines that were logged before it.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Final, Self

_calls: Final = threading.local()


class DeferredLines:
    """The lines of one call that are not written yet, of all threads that work for it.

    A thread's lines are kept that it logs within a ``with`` block of this; the caller writes them some time
    after it.
    """

    def __init__(self) -> None:
        self._kept = deque[tuple[logging.Handler, logging.LogRecord]]()

    def keep(self, handler: logging.Handler, line: logging.LogRecord) -> None:
        """Keep a line that ``handler`` is to write."""
        self._kept.append((handler, line))

    def write(self) -> None:
        """Write the kept lines. Call it once the call is over."""
        while (kept := self._next()) is not None:
            handler, line = kept
            handler.handle(line)

    def _next(self) -> tuple[logging.Handler, logging.LogRecord] | None:
        try:
            return self._kept.popleft()
        except IndexError:
            return None

    def __enter__(self) -> Self:
        _calls.lines = self
        return self

    def __exit__(self, *_error: object) -> None:
        _calls.lines = None


class DeferLines(logging.Filter):
    """The filter that keeps the lines of calls back from one handler."""

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written now."""
        lines: DeferredLines | None = getattr(_calls, "lines", None)
        if lines is None:
            return True
        if record.levelno < logging.WARNING:
            lines.keep(self._handler, record)
            return False
        _calls.lines = None
        try:
            lines.write()
        finally:
            _calls.lines = lines
        return True
