"""Named locks that hold between threads and between processes.

A lock is an ``flock`` on a file of its name; the file says who holds it and goes away with the holder.
Waiting is bounded, its clock and its sleep are handed in, and whoever gives up names the holder.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from plugin import files
from plugin.errors import LockTimeout, StorageFailed

_POLL_S: Final = 0.01
_HOLDER_BYTES: Final = 200
_FOLDER_MODE: Final = 0o750


@dataclass(frozen=True, slots=True, kw_only=True)
class Locks:
    """The locks of one folder.

    Units: ``wait_s`` seconds of ``clock``; below the kubelet's 45 s for a call.
    """

    folder: Path
    wait_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    @contextmanager
    def hold(self, name: str, subject: str, purpose: str) -> Iterator[None]:
        """Hold the lock ``name`` for the length of a ``with`` block.

        Shape: ``name`` is part of a file name; ``subject`` how people call what is locked; ``purpose`` what
               it is held to do, for those who wait.
        Raises: LockTimeout naming subject and holder; StorageFailed.
        """
        path = f"{self.folder}/{name}.lock"
        descriptor = self._acquire(path, subject, purpose)
        try:
            yield
        finally:
            # Unlinked while still held: whoever locks the orphan next sees that it is not the path's
            # file any more and opens the path again.
            with suppress(FileNotFoundError):
                os.unlink(path)
            os.close(descriptor)

    def sweep(self) -> None:
        """Remove the files of locks that nobody holds: a killed process leaves its own."""
        for name in files.names(self.folder):
            descriptor = _try_lock(os.fspath(self.folder / name))
            if descriptor is not None:
                (self.folder / name).unlink(missing_ok=True)
                os.close(descriptor)

    def _acquire(self, path: str, subject: str, purpose: str) -> int:
        give_up_at = self.clock() + self.wait_s
        while True:
            descriptor = _try_lock(path)
            if descriptor is not None:
                if os.fstat(descriptor).st_size:  # somebody was killed with it
                    os.ftruncate(descriptor, 0)
                os.write(descriptor, purpose.encode()[:_HOLDER_BYTES])
                return descriptor
            if self.clock() >= give_up_at:
                reason = f"it was not free within {self.wait_s:g} s; it is held to {_holder(path)}"
                raise LockTimeout("lock", f"{subject} to {purpose}", reason)
            self.sleep(_POLL_S)


def _try_lock(path: str) -> int | None:
    """Return a descriptor that holds the lock of the file at ``path``, None where somebody else does."""
    try:
        descriptor = _opened(path)
    except OSError as error:
        raise StorageFailed("open", f"lock file {path}", error.strerror or str(error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def _opened(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:  # a plugin whose start failed may have taken a new folder away again
        files.make_folder(Path(path).parent, _FOLDER_MODE)
        return os.open(path, flags, 0o600)


def _holder(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")[:_HOLDER_BYTES] or "do something else"
    except OSError:
        return "do something else"
