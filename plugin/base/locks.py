"""Named locks that hold between threads and between processes.

A lock is a byte of one file, locked by an open file description of its own (``F_OFD_SETLK``). The kernel
releases it when the holder ends, however it ends, and no file is created or removed for it. Waiting is
bounded; clock and sleep are arguments. The error of a wait that timed out names the holder.
Source: fcntl_locking(2), "Open file description locks".
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.errors import LockTimeout, StorageFailed

_POLL_S: Final = 0.01
_FOLDER_MODE: Final = 0o750
_FLOCK: Final = struct.Struct("@hhqqi4x")
"""C's ``struct flock``: type, whence, start, length, process (0 for these locks), and its padding."""
_LAST_BYTE: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Locks:
    """The locks of one file, which is created where it is missing.

    Units: ``wait_s`` seconds of ``clock``; below the kubelet's 45 s for a call.
    """

    path: Path
    wait_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    # What the threads of this process hold: the kernel does not say who holds such a lock.
    _purposes: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @contextmanager
    def hold(self, name: str, subject: str, purpose: str) -> Iterator[None]:
        """Hold the lock ``name`` for the length of a ``with`` block.

        Shape: ``subject`` what is locked, for messages; ``purpose`` what the holder does, for messages of
               those who wait.
        Raises: LockTimeout naming the subject and the holder; StorageFailed.
        """
        descriptor = self._acquire(name, subject, purpose)
        self._purposes[name] = purpose
        try:
            yield
        finally:
            del self._purposes[name]
            os.close(descriptor)

    def _acquire(self, name: str, subject: str, purpose: str) -> int:
        wish = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _byte(name), 1, 0)
        give_up_at = self.clock() + self.wait_s
        while True:
            descriptor = self._try(wish)
            if descriptor is not None:
                return descriptor
            if self.clock() >= give_up_at:
                reason = f"it was not released within {self.wait_s:g} s; {self._holder(name)}"
                raise LockTimeout("lock", f"{subject} to {purpose}", reason)
            self.sleep(_POLL_S)

    def _try(self, wish: bytes) -> int | None:
        """Return a descriptor that holds the lock, None where another holds it. Raises: StorageFailed."""
        descriptor, is_held = self._opened(), False
        try:
            is_held = self._is_granted(descriptor, wish)
        finally:
            if not is_held:
                os.close(descriptor)
        return descriptor if is_held else None

    def _is_granted(self, descriptor: int, wish: bytes) -> bool:
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wish)
            # A plugin whose start failed may have removed its new folder since the file was opened.
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except (BlockingIOError, PermissionError, FileNotFoundError):  # locked (EAGAIN, EACCES), or gone
            return False
        except OSError as error:
            raise StorageFailed("lock", str(self.path), error.strerror or str(error)) from error

    def _holder(self, name: str) -> str:
        purpose = self._purposes.get(name)
        return f"this process holds it to {purpose}" if purpose else "another process of this driver holds it"

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            try:
                return os.open(self.path, flags, 0o600)
            except FileNotFoundError:
                files.make_folder(self.path.parent, _FOLDER_MODE)
                return os.open(self.path, flags, 0o600)
        except OSError as error:
            raise StorageFailed("open", f"lock file {self.path}", error.strerror or str(error)) from error


def _byte(name: str) -> int:
    """Return the byte of a name, from a 62-bit hash: two names with one byte are not to be expected."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") % _LAST_BYTE
