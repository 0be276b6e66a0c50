"""The folders that a start creates, and removes again where the start fails.

Takes paths; folders exist afterwards. A folder that existed before is never removed. A folder that the start
created is removed only while it is empty, unless its content comes from the start, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from plugin.base.errors import StorageFailed

# The kubelet and container runtimes watch some of the folders and ignore names that begin with a dot.
_PROBE: Final = ".tangram-probe-"
_OPEN_MODE: Final = 0o1777


def refuse_unwritable(folders: Iterable[Path]) -> None:
    """Check that folders can be written, or created where they are missing; leave nothing behind.

    Raises: StorageFailed naming the folder.
    """
    for folder in folders:
        try:
            Path(mkdtemp(prefix=_PROBE, dir=_existing(folder))).rmdir()
        except OSError as error:
            raise StorageFailed("write", f"folder {folder}", error.strerror or str(error)) from error


@contextmanager
def made(folders: Sequence[Path], mode: int, *, with_content: bool = False) -> Iterator[Sequence[Path]]:
    """Create folders with their parents; those that were missing are removed again where the block fails.

    Shape: yields the folders that were missing; ``with_content`` whether their content is removed, too.
    Raises: StorageFailed naming the folder.
    """
    fresh: list[Path] = []
    try:
        for folder in folders:
            _make(folder, mode, fresh)
        yield fresh
    except BaseException:
        for folder in reversed(fresh):
            if with_content and folder in folders:  # never other files in a new parent
                shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.rmdir()
        raise


def _make(folder: Path, mode: int, fresh: list[Path]) -> None:
    try:
        for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            with suppress(FileExistsError):  # another plugin that starts created it first
                missing.mkdir(mode=mode if missing == folder else 0o777)
                fresh.append(missing)
    except OSError as error:
        raise StorageFailed("make", f"folder {folder}", error.strerror or str(error)) from error


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def open_to_agent(folder: Path) -> None:
    """Make a folder in which the agent, which is not root, can write. Where that fails the agent tells of it.

    The kubelet keeps everybody else out of the folder above it.
    """
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(_OPEN_MODE)
