"""The folders of a start: all of them usable, or none of those that were missing left behind.

Paths enter, folders are there afterwards. What was there before is never removed, and of what was made
only what is still empty, unless its content is of the start, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from plugin.base.errors import StorageFailed

# The kubelet and container runtimes watch some of the folders; names that begin with a dot mean nothing
# to them.
_PROBE: Final = ".tangram-probe-"


def refuse_unwritable(folders: Iterable[Path]) -> None:
    """Check that folders can be written, or made where they are missing; leave no trace.

    Raises: StorageFailed naming the folder.
    """
    for folder in folders:
        try:
            Path(mkdtemp(prefix=_PROBE, dir=_existing(folder))).rmdir()
        except OSError as error:
            raise StorageFailed("write", f"folder {folder}", error.strerror or str(error)) from error


@contextmanager
def made(folders: Sequence[Path], mode: int, *, with_content: bool = False) -> Iterator[Sequence[Path]]:
    """Make folders with their parents; a block that fails takes back those that were missing.

    Shape: the folders that were missing; ``with_content`` whether what the block put into one goes, too.
    Raises: StorageFailed naming the folder.
    """
    fresh: list[Path] = []
    try:
        for folder in folders:
            _make(folder, mode, fresh)
        yield fresh
    except BaseException:
        for folder in reversed(fresh):
            if with_content and folder in folders:  # never what lies beside it in a new parent
                shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.rmdir()
        raise


def _make(folder: Path, mode: int, fresh: list[Path]) -> None:
    try:
        for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            with suppress(FileExistsError):  # another plugin that starts was faster, and it is that one's
                missing.mkdir(mode=mode if missing == folder else 0o777)
                fresh.append(missing)
    except OSError as error:
        raise StorageFailed("make", f"folder {folder}", error.strerror or str(error)) from error


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())
