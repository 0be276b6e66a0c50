"""Log lines of a call, written once its answer is out.

A line written to a container's output wakes its shim and the runtime's daemon, which then compete with the
call for the node's processors. So what a thread logs within a call waits for the call's end, with the time
at which it was logged. A warning waits for nobody, and takes along what waits before it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_calls: Final = threading.local()


class Lines:
    """The lines of one call that wait."""

    def __init__(self) -> None:
        self._waiting: list[tuple[logging.Handler, logging.LogRecord]] = []

    def add(self, handler: logging.Handler, line: logging.LogRecord) -> None:
        """Let a line wait that ``handler`` is to write."""
        self._waiting.append((handler, line))

    def write(self) -> None:
        """Write what waits. Call it from outside the call, or through a warning."""
        waiting, self._waiting = self._waiting, []
        for handler, line in waiting:
            handler.handle(line)


@contextmanager
def held_back() -> Iterator[Lines]:
    """Hold this thread's lines back within a ``with`` block; the caller writes them some time after it."""
    _calls.lines = Lines()
    try:
        yield _calls.lines
    finally:
        _calls.lines = None


class Late(logging.Filter):
    """What makes a handler wait with the lines of calls."""

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a line may be written now."""
        lines: Lines | None = getattr(_calls, "lines", None)
        if lines is None:
            return True
        if record.levelno < logging.WARNING:
            lines.add(self._handler, record)
            return False
        _calls.lines = None
        try:
            lines.write()
        finally:
            _calls.lines = lines
        return True
