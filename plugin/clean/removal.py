"""Removes folders. No symbolic link is followed."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.errors import StorageFailed

_STAYS: Final = {errno.EBUSY, errno.ENOTEMPTY}


def removed(path: Path) -> bool:
    """Remove a folder with its content; return whether anything was removed. Raises: StorageFailed.

    Where the folder is a mount, its content is removed.
    """
    names = files.names(path)
    for name in names:
        _remove(path / name)
    return removed_if_empty(path) or bool(names)


def removed_if_empty(path: Path) -> bool:
    """Remove a folder unless it has content or is a mount; return whether it was. Raises: StorageFailed."""
    try:
        path.rmdir()
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in _STAYS:
            return False
        raise StorageFailed("remove", str(path), error.strerror or str(error)) from error
    return True


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageFailed("remove", str(path), error.strerror or str(error)) from error
