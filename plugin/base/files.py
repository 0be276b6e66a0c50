"""Durable files: replaced whole or not at all, or appended to.

Takes a path and bytes. A process that dies at any moment leaves the old file or the new one, and at most a
temporary file beside it, which no reader takes for a record or a CDI document. A process that dies while it
appends may leave half of the appended bytes. A file that must survive a power cut is on the disk when the
call returns; waiting for the disk is most of what such a call costs.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from plugin.base.errors import StorageFailed

_log = logging.getLogger(__name__)
_TEMPORARY: Final = ".tmp"
_PIECE_BYTES: Final = 64 * 1024
_PASSING: Final = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN}
_MOVES_IT: Final = "the operator moves it away; then it is retried"


@lru_cache(maxsize=64)
def within(folder: Path, name: str) -> Path:
    """Return the path of a name in a folder. Cached: one claim asks for the same few again and again."""
    return folder / name


def temporary_path(path: Path) -> Path:
    """Return where ``path`` is written before it is moved into place; hidden, and without its suffix."""
    return path.with_name(_temporary(path.name))


def original_name(temporary: str) -> str | None:
    """Return the final name of a temporary file, None for other names."""
    if temporary.startswith(".") and temporary.endswith(_TEMPORARY):
        return temporary[1 : -len(_TEMPORARY)]
    return None


def replace(path: Path, data: bytes, mode: int, *, synced: bool) -> None:
    """Write a file in one step. Two writers of one path must exclude each other.

    A folder in its place is removed, or moved aside if it has content.
    Shape: ``synced`` whether the file survives a power cut once this returns. A power cut before that may
           leave an empty file: content and name are synced together, which takes half as long as in turn.
    Raises: StorageFailed; the file then has its old content, or the new one if only the sync failed.
    """
    folder, _, name = os.fspath(path).rpartition("/")
    temporary = f"{folder}/{_temporary(name)}"
    # Without blocking: a pipe without a reader is refused at once.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = _opened(temporary, mode, flags)
        try:
            _write(descriptor, data)
            os.replace(temporary, path)
            if synced:
                os.fsync(descriptor)
                _sync_folder(folder)
        finally:
            os.close(descriptor)
    except OSError as error:
        if not _has_made_room(error, temporary, path):
            raise StorageFailed("write", str(path), _reason(error)) from error
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # its mode may forbid its owner to write to it again, if that is not root
        replace(path, data, mode, synced=synced)


def append(path: Path, data: bytes, mode: int) -> int:
    """Append to a file, which is created where it is missing, and return its length in bytes.

    The data survives the end of the process, but no power cut. This costs a file system less than replacing
    the file. Raises: StorageFailed; the file may then end with half of the data.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = _opened(os.fspath(path), mode, flags)
        try:
            _write(descriptor, data)
            return os.lseek(descriptor, 0, os.SEEK_CUR)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailed("write", str(path), _reason(error)) from error


def shorten(path: Path, length: int) -> None:
    """Truncate a file to ``length`` bytes. Raises: StorageFailed."""
    try:
        os.truncate(path, length)
    except OSError as error:
        raise StorageFailed("shorten", str(path), _reason(error)) from error


def remove(path: Path) -> bool:
    """Remove a file and its temporary file; return whether there was a file.

    A folder in its place is removed or moved aside, too. After a power cut it may exist again.
    Raises: StorageFailed.
    """
    folder, _, name = os.fspath(path).rpartition("/")
    try:
        _unlink(f"{folder}/{_temporary(name)}")
        return _unlink(path)
    except OSError as error:
        raise StorageFailed("remove", str(path), _reason(error)) from error


def read(path: Path | str, unreadable: bytes | None = None) -> bytes | None:
    """Return a file's bytes, None where it does not exist.

    Shape: ``unreadable`` is returned for a file that cannot be read; without it that is an error. Too many
           open files and the like are an error in any case: they say nothing of the file.
    Raises: StorageFailed, also for what is no regular file: opening a pipe does not wait for its writer.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return _unread(path, error, unreadable)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is not a regular file")
        return _read(descriptor, found.st_size)
    except OSError as error:
        return _unread(path, error, unreadable)
    finally:
        os.close(descriptor)


def is_passing(error: StorageFailed) -> bool:
    """Whether a failure says something of this process or moment, and nothing of the file."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _PASSING


def exists(path: Path | str) -> bool:
    """Whether something has this name, whatever it is."""
    return os.path.lexists(path)


def identity(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes when the file changes or is replaced, None where it does not exist.

    Raises: StorageFailed.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageFailed("read", str(path), _reason(error)) from error
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def move(path: Path, target: Path) -> None:
    """Rename a file within its folder. A folder in its new place makes room. Raises: StorageFailed."""
    try:
        path.replace(target)
    except OSError as error:
        if not _has_made_room(error, target):
            raise StorageFailed("rename", str(path), _reason(error)) from error
        move(path, target)


def names(folder: Path | str) -> tuple[str, ...]:
    """Return the names in a folder, sorted; none where it does not exist. Raises: StorageFailed."""
    try:
        return tuple(sorted(os.listdir(folder)))
    except (FileNotFoundError, NotADirectoryError):
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


# What follows does without Python's files: each of them costs three system calls more, and a claim opens ten.


def _write(descriptor: int, data: bytes) -> None:
    """Write all of the data: one call may write only a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _read(descriptor: int, size: int) -> bytes:
    """Read to the end. Units: ``size`` bytes that are expected; the file may have grown since.

    Files of the kernel say 0 and have more.
    """
    pieces, most = [], size + 1 if size else _PIECE_BYTES
    while piece := os.read(descriptor, most):
        pieces.append(piece)
        if len(piece) == size:  # the usual end: a shorter answer than what was asked for
            break
    return b"".join(pieces)


def _unlink(path: str | Path) -> bool:
    """Unlink a file; return whether there was one, or an empty folder in its place."""
    try:
        os.unlink(path)
        return True
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        if _has_made_room(error, path):
            return True
        # A read-only file system refuses even where there is no file: then nothing is left to do.
        if error.errno == errno.EROFS and not os.path.lexists(path):
            return False
        raise


def move_aside(path: Path | str) -> None:
    """Move what is in the place of a file of ours to a hidden name beside it, and log that.

    Raises: StorageFailed.
    """
    folder, _, name = os.fspath(path).rpartition("/")
    aside = f"{folder}/.{name}.{secrets.token_hex(4)}.aside"
    try:
        os.rename(path, aside)
    except OSError as error:
        raise StorageFailed("move aside", str(path), _reason(error), _MOVES_IT) from error
    _log.warning("%s was not a file of this driver; it was moved to %s", path, aside)


def _has_made_room(error: OSError, *paths: Path | str) -> bool:
    """Remove the folders in the place of these files; return whether one made the call fail.

    One with content is moved aside. Raises: StorageFailed.
    """
    if error.errno not in {errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}:
        return False
    found = [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]
    for folder in found:
        try:
            os.rmdir(folder)
        except OSError as refusal:
            if refusal.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise StorageFailed("remove", f"folder {folder}", _reason(refusal)) from refusal
            move_aside(folder)
    return bool(found)


def _opened(path: str, mode: int, flags: int) -> int:
    """Open a file for writing; its folder is created again where it is missing."""
    try:
        return os.open(path, flags, mode)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, mode)


def _sync_folder(folder: str) -> None:
    """Make a new name durable: a name is part of the folder, not of the file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unread(path: Path | str, error: OSError, unreadable: bytes | None) -> bytes:
    if unreadable is None or error.errno in _PASSING:
        raise StorageFailed("read", str(path), _reason(error)) from error
    return unreadable


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
