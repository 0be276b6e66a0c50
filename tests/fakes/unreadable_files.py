"""What may stand in the place of a file and gives an error to whoever reads it, by name.

Each takes a path, makes its folder, and replaces what is there. A link to itself cannot even be looked at.
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
