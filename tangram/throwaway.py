"""Folders for simulated machines that live no longer than a command."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# A rendered machine is some thousands of small files: in memory they cost nothing, on a busy disk seconds.
# Both paths are short: sockets lie below them, and a unix socket's path has 107 bytes wherever TMPDIR points.
_PLACES: Final = ("/dev/shm", "/tmp")  # noqa: S108


@contextmanager
def throwaway_folder() -> Iterator[Path]:
    """Make an empty folder and remove it with all that it holds when the block ends."""
    place = next((place for place in _PLACES if os.access(place, os.W_OK | os.X_OK)), _PLACES[-1])
    with tempfile.TemporaryDirectory(prefix="tangram-", dir=place) as folder:
        yield Path(folder)
