"""Reuses what was read from files, while the folders that would tell of a change are as they were.

In the kernel's sysfs every entry of a folder has an inode number of its own that no other entry gets later,
and what a link leads to stays as long as the entry. So a listing with inode numbers, which is one call for
hundreds of links, tells whether any of them may lead elsewhere. Other file systems give numbers again, so
the times of the folder belong to the listing.

Only a program that looks again and again reuses what it read; it hands a ``ReuseUnchanged`` in. All others
read everything anew. Source: Linux, fs/kernfs/dir.c, __kernfs_new_node and kernfs_fop_readdir.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from agent.hardware.attributes import AnyPath

_T = TypeVar("_T")

SETTLED_S: Final = 1.0
"""Seconds for which listings must have stood before what is read counts for later: the kernel makes an entry
and what belongs to it one after the other, and file systems count times in milliseconds."""
MOST_S: Final = 1800.0
"""Seconds after which everything is read anew: what no listing tells is not hidden for ever."""


class Evidence(NamedTuple):
    """The listings of some folders. Units: seconds of the clock just before and just after."""

    listings: tuple[object, ...]
    begun_s: float
    ended_s: float

    def beside(self, other: Evidence) -> Evidence:
        """Return this evidence and another one together."""
        begun, ended = min(self.begun_s, other.begun_s), max(self.ended_s, other.ended_s)
        return Evidence((*self.listings, *other.listings), begun, ended)


class Reuse(Protocol):
    """Decides whether files are read. What is read or made is known by a ``name``."""

    def evidence(self, folders: Iterable[AnyPath]) -> Evidence:
        """Return the present evidence of some folders; take it before what it stands for is read."""
        ...

    def read(self, name: str, evidence: Evidence, read: Callable[[], _T]) -> _T:
        """Return what ``read`` returns, or the identical value of an earlier call with the same evidence."""
        ...

    def made(self, name: str, of: object, make: Callable[[], _T]) -> _T:
        """Return what ``make`` returns, or the identical value of the last call if ``of`` is equal.

        ``make`` reads nothing: it follows from ``of`` alone.
        """
        ...


class ReadAnew:
    """Reads and makes everything anew."""

    def evidence(self, folders: Iterable[AnyPath]) -> Evidence:  # noqa: ARG002 (of the protocol)
        """Return no evidence: nobody asks for it."""
        return Evidence((), 0.0, 0.0)

    def read(self, name: str, evidence: Evidence, read: Callable[[], _T]) -> _T:  # noqa: ARG002
        """Return what ``read`` returns."""
        return read()

    def made(self, name: str, of: object, make: Callable[[], _T]) -> _T:  # noqa: ARG002
        """Return what ``make`` returns."""
        return make()


@dataclass(slots=True)
class _Known:
    """Listings, since when they stand, and what was read since they had settled, with the time."""

    listings: tuple[object, ...]
    since_s: float
    read: tuple[Any, float] | None = None


class ReuseUnchanged:
    """Reuses what was read while the evidence is as it was. For one thread.

    Shape: ``now`` is a clock that nobody sets. Units: seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, _Known] = {}
        self._made: dict[str, tuple[object, Any]] = {}
        self._listed: dict[str, object] = {}

    def evidence(self, folders: Iterable[AnyPath]) -> Evidence:
        """Return the present evidence of some folders; take it before what it stands for is read."""
        begun = self._now()
        listings = tuple([self._listing(str(folder)) for folder in folders])
        return Evidence(listings, begun, self._now())

    def _listing(self, folder: str) -> object:
        """Return the listing of a folder: the identical one while it is equal, which is faster to compare."""
        now, before = _listing(folder), self._listed.get(folder)
        if before == now:
            return before
        self._listed[folder] = now
        return now

    def read(self, name: str, evidence: Evidence, read: Callable[[], _T]) -> _T:
        """Return what ``read`` returns, or the identical value of an earlier call with the same evidence."""
        known = self._known.get(name)
        if known is None or known.listings != evidence.listings:
            known = self._known[name] = _Known(evidence.listings, evidence.ended_s)
        if known.read is not None and evidence.begun_s - known.read[1] < MOST_S:
            found: _T = known.read[0]
            return found
        found = read()
        if evidence.begun_s - known.since_s >= SETTLED_S:
            known.read = found, evidence.begun_s
        return found

    def made(self, name: str, of: object, make: Callable[[], _T]) -> _T:
        """Return what ``make`` returns, or the identical value of the last call if ``of`` is equal."""
        last = self._made.get(name)
        if last is not None and last[0] == of:
            found: _T = last[1]
            return found
        found = make()
        self._made[name] = of, found
        return found


def _listing(folder: AnyPath) -> object:
    """Return the entries of a folder with their inode numbers, and its times; None without the folder.

    Shape: a folder that cannot be listed tells nothing: what is returned then equals nothing else.
    """
    try:
        with os.scandir(folder) as entries:
            listed = {entry.name: entry.inode() for entry in entries}
        times = os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return object()
    return listed, times.st_ino, times.st_mtime_ns, times.st_ctime_ns


READ_ANEW: Final = ReadAnew()
