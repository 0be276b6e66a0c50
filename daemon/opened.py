"""Opens files that may be anything: a pipe without a writer is refused, and nobody waits for one to come."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

_PART_BYTES: Final = 2**20


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be read part by part. Never waits for a writer to come, only for what one writes.

    Raises: OSError, also for a pipe that nobody writes to.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        first = _first_bytes(descriptor)
        os.set_blocking(descriptor, True)
        with io.BufferedReader(_Begun(first, descriptor), _PART_BYTES) as file:
            yield file
    finally:
        os.close(descriptor)


class _Begun(io.RawIOBase):
    """A file of which the first bytes were read already."""

    def __init__(self, first: bytes, descriptor: int) -> None:
        self._first = first
        self._descriptor = descriptor

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, at least one byte before the end."""
        part = self._first[: len(buffer)] or os.read(self._descriptor, len(buffer))
        self._first = self._first[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _first_bytes(descriptor: int) -> bytes:
    """Return what a pipe holds now, nothing of other files. Raises: OSError where it has no writer."""
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return b""
    try:
        first = os.read(descriptor, _PART_BYTES)
    except BlockingIOError:
        return b""  # its writer has not written yet
    if not first:
        raise OSError(errno.ENXIO, "it is a pipe that nobody writes to")
    return first
