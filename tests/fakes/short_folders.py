"""Where tests make their folders: in memory where that has room, else on the disk.

A simulated machine is hundreds of small files, which cost several times as much on a disk. Names are short:
paths of sockets may have 107 bytes.
"""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory
from typing import Final

ON_DISK: Final = "/tmp"
"""For what is mounted over ``/dev/shm``, and for images of containers."""
_IN_MEMORY: Final = "/dev/shm"
_ROOM_BYTES: Final = 2 * 1024**3


def has_room(folder: str) -> bool:
    """Whether folders of tests can lie here: containers have 64 MB, often without programs that run."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    runs_programs = not found.f_flag & os.ST_NOEXEC
    return runs_programs and os.access(folder, os.W_OK) and found.f_bavail * found.f_frsize >= _ROOM_BYTES


ROOT: Final = _IN_MEMORY if has_room(_IN_MEMORY) else ON_DISK


def short_folder() -> TemporaryDirectory[str]:
    """Make a folder that is removed when it is closed."""
    return TemporaryDirectory(prefix="tg-", dir=ROOT)
