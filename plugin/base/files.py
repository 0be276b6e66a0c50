"""Durable files: written whole or not at all, or longer by a part.

A path and bytes enter. A process that dies at any moment leaves the old file or the new one, and at most a
temporary file beside it that no reader takes for a record or a CDI document; dying while it appends, it may
leave half of the part. What must outlive the machine, too, is on the disk when the call returns; waiting
for the disk is most of what a call costs.
"""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Final

from plugin.base.errors import StorageFailed

_TEMPORARY: Final = ".tmp"


def temporary_path(path: Path) -> Path:
    """Return where ``path`` is written before it is moved into place; hidden, and without its suffix."""
    return path.with_name(_temporary(path.name))


def original_name(temporary: str) -> str | None:
    """Return the name of the file that a temporary file was to become, None for other names."""
    if temporary.startswith(".") and temporary.endswith(_TEMPORARY):
        return temporary[1 : -len(_TEMPORARY)]
    return None


def replace(path: Path, data: bytes, mode: int, *, synced: bool) -> None:
    """Write a file in one step. Two writers of one path must exclude each other.

    Shape: ``synced`` whether the file outlives a power cut once this returns. One before that may leave an
           empty file: content and name reach the disk together, which takes half as long as in turn.
    Raises: StorageFailed; the file then has its old content, or where only the sync failed the new one.
    """
    folder, name = os.path.split(path)
    temporary = f"{folder}/{_temporary(name)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with open(_opened(temporary, mode, flags), "wb", buffering=0) as file:
            _write(file, data)
            os.replace(temporary, path)
            if synced:
                os.fsync(file.fileno())
                _sync_folder(folder)
    except OSError as error:
        raise StorageFailed("write", str(path), _reason(error)) from error


def append(path: Path, data: bytes, mode: int) -> int:
    """Write to the end of a file, one that is not there is made; return its length in bytes.

    It outlives the process, and not a power cut. A file system has less to do for it than for a file that
    takes another's name. Raises: StorageFailed; the file may then end with half of the data.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with open(_opened(os.fspath(path), mode, flags), "ab", buffering=0) as file:
            _write(file, data)
            return file.tell()
    except OSError as error:
        raise StorageFailed("write", str(path), _reason(error)) from error


def shorten(path: Path, length: int) -> None:
    """Cut a file off after so many bytes. Raises: StorageFailed."""
    try:
        os.truncate(path, length)
    except OSError as error:
        raise StorageFailed("shorten", str(path), _reason(error)) from error


def remove(path: Path) -> bool:
    """Remove a file and its temporary sibling; say whether there was a file.

    A power cut may bring it back. Raises: StorageFailed.
    """
    folder, name = os.path.split(path)
    try:
        _unlink(f"{folder}/{_temporary(name)}")
        return _unlink(path)
    except OSError as error:
        raise StorageFailed("remove", str(path), _reason(error)) from error


def read(path: Path) -> bytes | None:
    """Return a file's bytes, None where it is not there. Raises: StorageFailed."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageFailed("read", str(path), _reason(error)) from error


def identity(path: Path) -> tuple[int, ...] | None:
    """Return what tells a file from one that replaces it, None where it is not there.

    Raises: StorageFailed.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageFailed("read", str(path), _reason(error)) from error
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def move(path: Path, target: Path) -> None:
    """Rename a file within its folder. Raises: StorageFailed."""
    try:
        path.replace(target)
    except OSError as error:
        raise StorageFailed("rename", str(path), _reason(error)) from error


def names(folder: Path) -> tuple[str, ...]:
    """Return the names in a folder, sorted; none where it does not exist. Raises: StorageFailed."""
    try:
        return tuple(sorted(os.listdir(folder)))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StorageFailed("list", str(folder), _reason(error)) from error


def make_folder(folder: Path, mode: int) -> None:
    """Make a folder and its parents. Raises: StorageFailed."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError as error:
        raise StorageFailed("make", f"folder {folder}", _reason(error)) from error


def _temporary(name: str) -> str:
    return f".{name}{_TEMPORARY}"


def _write(file: io.FileIO, data: bytes) -> None:
    """Write all of the data: one call may take less of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _unlink(path: str | Path) -> bool:
    """Unlink a file; say whether there was one."""
    try:
        os.unlink(path)
        return True
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        # A read-only file system refuses also where there is nothing: then nothing is left to do.
        if error.errno == errno.EROFS and not os.path.lexists(path):
            return False
        raise


def _opened(path: str, mode: int, flags: int) -> int:
    """Return a file to write to; a folder that went away is made again."""
    try:
        return os.open(path, flags, mode)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, mode)


def _sync_folder(folder: str) -> None:
    """Make a new name durable: it lives in the folder, not in the file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
