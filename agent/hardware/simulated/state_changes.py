"""Detects changes of a simulated machine: of its state file, and of which state its tree shows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agent.hardware.simulated.store import rendered_file

_POLL_S: Final = 0.25


class StateChanges:
    """Polls the machine in ``directory``: its state file's inode and time, and which state its tree shows.

    The tree follows the state file. Who looked as soon as that changed may have seen the tree of before, and
    must look again when the tree is made, as a kernel sends its events when it has changed its files.
    """

    def __init__(self, directory: Path, poll_s: float = _POLL_S) -> None:
        self._file = directory / "machine.json"
        self._rendered = rendered_file(directory)
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

    def _stamp(self) -> tuple[tuple[int, int] | None, bytes | None]:
        return _inode_and_time(self._file), _content(self._rendered)


def _inode_and_time(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
