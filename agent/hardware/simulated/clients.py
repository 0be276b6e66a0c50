"""Processes that hold GPUs of a simulated machine, as clients of a real driver do.

A client has a byte of one file locked (``F_OFD_SETLK``) and the GPU's device node open. The byte says who it
is, and the kernel releases both when the process ends, however it ends. Nothing but living processes counts.
Source: fcntl_locking(2), "Open file description locks".
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FLOCK: Final = struct.Struct("@hhqqi4x")
"""C's ``struct flock``: type, whence, start, length, process (0 for these locks), and its padding."""
_FILE: Final = "clients"
_PROCESS_BITS: Final = 32
_GPU_BITS: Final = 8


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients of the machine in ``directory``."""

    directory: Path

    @contextmanager
    def held(self, boot: int, minor: int) -> Iterator[None]:
        """Hold the GPU with this minor number as a client of this boot, while the block runs."""
        descriptor = os.open(f"{self.directory}/{_FILE}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        node = None
        try:
            byte = _first_byte(boot, minor) + os.getpid()
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0))
            with suppress(PermissionError):  # a file system may open no device nodes
                node = os.open(self.directory / f"root/dev/nvidia{minor}", os.O_RDONLY | os.O_CLOEXEC)
            yield
        finally:
            for one in (descriptor, node):
                if one is not None:
                    os.close(one)

    def of(self, boot: int, minor: int) -> tuple[int, ...]:
        """Return the numbers of the processes that hold a GPU in this boot, in ascending order."""
        try:
            descriptor = os.open(f"{self.directory}/{_FILE}", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return ()
        try:
            return tuple(sorted(_locked(descriptor, _first_byte(boot, minor))))
        finally:
            os.close(descriptor)


def _first_byte(boot: int, minor: int) -> int:
    return (boot << _GPU_BITS | minor) << _PROCESS_BITS


def _locked(descriptor: int, first: int) -> Iterator[int]:
    """Yield which of a GPU's bytes are locked, counted from the first.

    The kernel answers with any one lock in a range, so both sides of it are asked for, too.
    """
    ranges = [(first, first + (1 << _PROCESS_BITS))]
    while ranges:
        at, end = ranges.pop()
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, at, end - at, 0)
        kind, _, found, _, _ = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, asked))
        if kind != fcntl.F_UNLCK:
            yield found - first
            ranges += [one for one in ((at, found), (found + 1, end)) if one[0] < one[1]]
