"""Caches the state of a machine while its file is unchanged.

Takes the identity of a file; returns the state that was read from it. The file stays open, so no newer file
can get its inode number: another inode number means another state.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

_State = TypeVar("_State")


@dataclass(slots=True)
class _Page(Generic[_State]):
    descriptor: int
    identity: tuple[int, ...]
    state: _State

    def __del__(self) -> None:
        os.close(self.descriptor)


@dataclass(slots=True)
class Memory(Generic[_State]):
    """Holds one state. Safe between threads."""

    _changing: Lock = field(default_factory=Lock)
    _page: _Page[_State] | None = None

    def recall(self, found: os.stat_result) -> _State | None:
        """Return the state that was read from this file if the file is unchanged."""
        page = self._page
        return page.state if page is not None and page.identity == _identity(found) else None

    def keep(self, descriptor: int, state: _State) -> None:
        """Keep the state that was read from an open file."""
        page = _Page(os.dup(descriptor), _identity(os.fstat(descriptor)), state)
        with self._changing:
            self._page = page


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
