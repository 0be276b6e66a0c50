"""A small file that several processes of a node share: read by all, replaced by one at a time.

A process that dies at any moment leaves the old file or the new one. Writers exclude each other by a lock on
the folder; readers need none.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)
_ASIDE: Final = ".damaged"
_TEMPORARY: Final = ".tmp"
_LEFT_S: Final = 600.0
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755
_TRIES: Final = 50
_PAUSE_S: Final = 0.1


Stamp = tuple[int, int, int] | None
"""What tells one version of a file from another; None where there is none, or where it cannot be seen."""


class NotKept(Exception):
    """The file can be neither read nor written now; the text says which file, and why.

    Shape: ``is_forbidden`` where this user may not: another program on the node may.
    """

    def __init__(self, text: str, *, is_forbidden: bool = False) -> None:
        super().__init__(text)
        self.is_forbidden = is_forbidden

    @classmethod
    def because(cls, text: str, error: OSError) -> NotKept:
        """Return the error for a failed system call, with the kernel's reason."""
        return cls(f"{text}: {error.strerror or error}", is_forbidden=isinstance(error, PermissionError))


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file in a folder that is made where it is missing.

    Units: ``sleep`` seconds; a writer waits 5 s for another one.
    """

    path: Path
    sleep: Callable[[float], None] = time.sleep

    def read(self, most: int) -> bytes | None:
        """Return up to ``most + 1`` bytes, None where there is no file. Raises: NotKept.

        Users without privileges may write in the folder, and root reads it. So a link is not followed, a pipe
        is not waited for, and both are an empty file: no kind of file is sound then.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
                return os.read(descriptor, most + 1) if is_plain else self._refused()
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return self._refused()
            raise NotKept.because(f"{self.path} cannot be read", error) from error

    def _refused(self) -> bytes:
        _log.warning("%s is not read: it is a link, a pipe or a folder, and not a plain file", self.path)
        return b""

    def stamp(self) -> Stamp:
        """Return what changes when the file is replaced."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers away for the length of a block. Raises: NotKept."""
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise NotKept.because(f"{folder} cannot be opened", error) from error
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def replace(self, data: bytes) -> None:
        """Write the file; it survives a power cut. Among several writers hold the lock. Raises: NotKept."""
        # In a folder for several users another one may put anything under a name that it can guess.
        temporary = self.path.parent / f"{self._temporary}{secrets.token_hex(8)}{_TEMPORARY}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
            try:
                with open(os.open(temporary, flags, _FILE_MODE), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                    self._remove_left(os.fstat(file.fileno()).st_mtime)
                temporary.replace(self.path)
            except OSError:
                with suppress(OSError):
                    temporary.unlink()
                raise
            self._sync_folder()
        except OSError as error:
            raise NotKept.because(f"{self.path} cannot be written", error) from error

    def set_aside(self) -> Path:
        """Rename a damaged file and return its new path; the lock as for ``replace``. Raises: NotKept."""
        aside = self.path.parent / f"{self.path.name}{_ASIDE}"
        try:
            with suppress(FileNotFoundError):
                self.path.replace(aside)
        except OSError as error:
            raise NotKept.because(f"{self.path} cannot be renamed", error) from error
        return aside

    def remove(self) -> None:
        """Remove the file, if it is there. Raises: NotKept."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise NotKept.because(f"{self.path} cannot be removed", error) from error

    @property
    def _temporary(self) -> str:
        return f".{self.path.name}."

    def _remove_left(self, now_s: float) -> None:
        """Remove temporary files of this user that processes left which were killed long ago."""
        for name in os.listdir(self.path.parent):
            if name.startswith(self._temporary) and name.endswith(_TEMPORARY):
                left = self.path.parent / name
                with suppress(OSError):
                    found = left.lstat()
                    if found.st_uid == os.geteuid() and now_s - found.st_mtime > _LEFT_S:
                        left.unlink()

    def _lock(self, descriptor: int) -> None:
        folder = self.path.parent
        for _ in range(_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.sleep(_PAUSE_S)
            except OSError as error:
                raise NotKept.because(f"{folder} cannot be locked", error) from error
            else:
                return
        raise NotKept(f"{folder} is locked by another process for {_TRIES * _PAUSE_S:g} s")

    def _sync_folder(self) -> None:
        """Make the new name durable: it is part of the folder, not of the file."""
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
