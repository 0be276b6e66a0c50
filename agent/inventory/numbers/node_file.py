"""A file of one node that says one value, on disk: several programs read it, and one at a time writes it.

Takes a folder; reads and replaces one file in it. What the bytes mean is each kind's own.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from agent.inventory.numbers.shared_file import SharedFile, Stamp

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NodeFile(ABC, Generic[T]):
    """The file of one node in one folder, which is made where it is missing.

    Shape: ``SUFFIX`` follows the node's name; more than ``MOST`` bytes are no sound file.
    Units: ``sleep`` seconds; a writer waits 5 s for another one.
    """

    SUFFIX: ClassVar[str] = ".json"
    MOST: ClassVar[int]

    folder: Path
    node: str
    sleep: Callable[[float], None] = time.sleep

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.folder / f"{self.node}{self.SUFFIX}"

    def read(self) -> T | None:
        """Return what the file says, None where there is none. Raises: the kind's ``Damaged``; NotKept."""
        data = self._file.read(self.MOST)
        return None if data is None else self._decoded(data)

    def stamp(self) -> Stamp:
        """Return what changes when the file is replaced. It costs one look at the folder."""
        return self._file.stamp()

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers away for the length of a block. Raises: NotKept."""
        return self._file.locked()

    def replace(self, said: T) -> None:
        """Write the file; it survives a power cut. Among several writers hold the lock. Raises: NotKept."""
        self._file.replace(self._encoded(said))

    def set_aside(self) -> Path:
        """Rename a damaged file and return its new path; the lock as for ``replace``. Raises: NotKept."""
        return self._file.set_aside()

    def remove(self) -> None:
        """Remove the file, if it is there. Raises: NotKept."""
        self._file.remove()

    @property
    def _file(self) -> SharedFile:
        return SharedFile(self.path, self.sleep)

    @abstractmethod
    def _encoded(self, said: T) -> bytes:
        """Return the bytes of a value."""

    @abstractmethod
    def _decoded(self, data: bytes) -> T:
        """Return the value of up to ``MOST + 1`` bytes. Raises: the kind's ``Damaged``."""
