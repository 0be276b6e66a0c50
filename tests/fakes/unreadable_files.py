"""Things that can be in the place of a file and cannot be read, by name.

Each takes a path, makes its folder, and replaces the file there. A link to itself fails on stat, too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def _empty(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


UNREADABLE: dict[str, Callable[[Path], None]] = {
    "a folder": lambda path: _empty(path).mkdir(),
    "a link to itself": lambda path: _empty(path).symlink_to(path),
    "an error of the disk": lambda path: _empty(path).symlink_to("/proc/self/mem"),  # reading it gives EIO
}
