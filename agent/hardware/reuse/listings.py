"""Listings of folders as the kernel writes them: names with inode numbers, to be compared, not read.

For a folder with thousands of entries an object for each of them costs several times as much as the kernel's
work. So its records stay the bytes that they are. Two equal ones are equal listings; that two listings with
the same entries differ, because a file system lists them in another order, only means more reading.
Source: getdents64(2).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Final

from agent.hardware.attributes import AnyPath

Entries = bytes | dict[str, int]
"""What two listings are compared by."""

_BYTES: Final = 2**15
"""Of one call: about 1,000 entries."""
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def listing(folder: AnyPath) -> object:
    """Return the entries of a folder with their inode numbers, and its times; None without the folder.

    Shape: a folder that cannot be listed tells nothing: what is returned then equals nothing else.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return object()
    try:
        entries, times = _entries(descriptor), os.fstat(descriptor)
    except OSError:
        return object()
    finally:
        os.close(descriptor)
    return entries, times.st_ino, times.st_mtime_ns, times.st_ctime_ns


def recorded(descriptor: int) -> bytes:
    """Return the kernel's records of the entries of an open folder. Raises: OSError."""
    buffer, parts = ctypes.create_string_buffer(_BYTES), list[bytes]()
    while (size := _LIBC.getdents64(descriptor, buffer, _BYTES)) > 0:
        parts.append(ctypes.string_at(buffer, size))
    if size < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return b"".join(parts)


def numbered(descriptor: int) -> dict[str, int]:
    """Return the inode numbers of the entries of an open folder: for a C library older than glibc 2.30."""
    with os.scandir(descriptor) as entries:
        return {entry.name: entry.inode() for entry in entries}


_entries: Final[Callable[[int], Entries]] = recorded if hasattr(_LIBC, "getdents64") else numbered
