"""Folders for simulated machines that live no longer than a command, however the command ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

# A rendered machine is some thousands of small files: in memory they cost nothing, on a busy disk seconds.
# Both paths are short: sockets lie below them, and a unix socket's path has 107 bytes wherever TMPDIR points.
_PLACES: Final = ("/dev/shm", "/tmp")  # noqa: S108


@contextmanager
def throwaway_folder() -> Iterator[Path]:
    """Make an empty folder and remove it with all that it holds when the block ends."""
    place = next((place for place in _PLACES if os.access(place, os.W_OK | os.X_OK)), _PLACES[-1])
    from tempfile import TemporaryDirectory  # it loads random and shutil, and most commands make no folder

    with TemporaryDirectory(prefix="tangram-", dir=place) as folder:
        yield Path(folder)


# What a supervisor sends, and a terminal that closes. Python by itself ends without cleaning up.
_ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def clean_end() -> Iterator[None]:
    """Turn the signals that end a process into SystemExit while the block runs: folders are then removed.

    A signal that is ignored stays ignored (nohup). Outside the main thread nothing can be done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    changed = [number for number in _ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    for again in _ENDINGS:  # a second one must not interrupt the cleaning up
        signal.signal(again, signal.SIG_IGN)
    raise SystemExit(128 + number)
