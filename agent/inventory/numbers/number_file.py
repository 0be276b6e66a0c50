"""The file of a node's numbers on disk, which agent and plugin share.

Takes a folder; reads and replaces one file in it. A process that dies at any moment leaves the old file or
the new one. Writers exclude each other by a lock on the folder; readers need none.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.inventory.numbers.file_format import MOST_BYTES, Damaged, decode, encode
from agent.inventory.numbers.numbering import Numbers

FOLDER: Final = "gpu-numbers"
_SUFFIX: Final = ".json"
_ASIDE: Final = ".damaged"
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755
_TRIES: Final = 50
_PAUSE_S: Final = 0.1


def folder_of(kubelet_dir: Path, driver: str, machine: Path | None) -> Path:
    """Return the folder that agent and plugin share: in the plugin's own, or in a simulated machine's."""
    return (kubelet_dir / "plugins" / driver if machine is None else machine) / FOLDER


class NotKept(Exception):
    """The file can be neither read nor written now; the text says which file, and why."""


@dataclass(frozen=True, slots=True)
class NumberFile:
    """The numbers of one node in one folder, which is made where it is missing.

    Units: ``sleep`` seconds; a writer waits 5 s for another one.
    """

    folder: Path
    node: str
    sleep: Callable[[float], None] = time.sleep

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.folder / f"{self.node}{_SUFFIX}"

    def read(self) -> Numbers | None:
        """Return the numbers, None where there is no file. Raises: Damaged, NotKept."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                data = os.read(descriptor, MOST_BYTES + 1)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NotKept(f"{self.path} cannot be read: {error.strerror or error}") from error
        if len(data) > MOST_BYTES:
            raise Damaged(f"it is larger than {MOST_BYTES} bytes")
        return decode(self.node, data)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers away for the length of a block. Raises: NotKept."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise NotKept(f"{self.folder} cannot be opened: {error.strerror or error}") from error
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def replace(self, numbers: Numbers) -> None:
        """Write the numbers; they survive a power cut. The caller holds the lock. Raises: NotKept."""
        temporary = self.folder / f".{self.path.name}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            with open(os.open(temporary, flags, _FILE_MODE), "wb") as file:
                file.write(encode(self.node, numbers))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
            self._sync_folder()
        except OSError as error:
            raise NotKept(f"{self.path} cannot be written: {error.strerror or error}") from error

    def set_aside(self) -> Path:
        """Rename a damaged file and return its new path. The caller holds the lock. Raises: NotKept."""
        aside = self.folder / f"{self.path.name}{_ASIDE}"
        try:
            with suppress(FileNotFoundError):
                self.path.replace(aside)
        except OSError as error:
            raise NotKept(f"{self.path} cannot be renamed: {error.strerror or error}") from error
        return aside

    def _lock(self, descriptor: int) -> None:
        for _ in range(_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.sleep(_PAUSE_S)
            except OSError as error:
                raise NotKept(f"{self.folder} cannot be locked: {error.strerror or error}") from error
            else:
                return
        raise NotKept(f"{self.folder} is locked by another process for {_TRIES * _PAUSE_S:g} s")

    def _sync_folder(self) -> None:
        """Make the new name durable: it is part of the folder, not of the file."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
