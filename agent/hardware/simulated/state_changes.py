"""Detects changes of a simulated machine: every change replaces its state file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

_POLL_S: Final = 0.25


class StateChanges:
    """Polls the state file of the machine in ``directory``: its inode and time."""

    def __init__(self, directory: Path, poll_s: float = _POLL_S) -> None:
        self._file = directory / "machine.json"
        self._poll_s = poll_s

    def listen(self, hear: Callable[[str], None], stop: threading.Event) -> None:
        """Call ``hear`` once it listens, then for every change until ``stop`` is set."""
        before = self._stamp()
        hear("listening has begun")
        while not stop.wait(self._poll_s):
            now = self._stamp()
            if now != before:
                before = now
                hear("the simulated machine's state")

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns
