"""Reuses what was read from files, while the folders that would tell of a change are as they were.

In the kernel's sysfs every entry of a folder has an inode number of its own that no other entry gets later,
and what a link leads to stays as long as the entry. So a listing with inode numbers, which is one call for
hundreds of links, tells whether any of them may lead elsewhere. Other file systems give numbers again, so
the times of the folder belong to the listing.

Only a program that looks again and again reuses what it read; it hands a ``ReuseUnchanged`` in. All others
read everything anew. Source: Linux, fs/kernfs/dir.c, __kernfs_new_node and kernfs_fop_readdir.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from agent.hardware.attributes import AnyPath
from agent.hardware.reuse.listings import listing

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

    def one_look(self) -> AbstractContextManager[None]:
        """Return the frame of one look, in which a folder is listed once.

        What changes in the meantime changes a listing, so that the next look reads it anew.
        """
        ...

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

    def one_look(self) -> AbstractContextManager[None]:
        """Return a frame that changes nothing."""
        return nullcontext()

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
        self._in_look: dict[str, Evidence] | None = None

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Return the frame of one look, in which a folder is listed once."""
        self._in_look = {}
        try:
            yield
        finally:
            self._in_look = None

    def evidence(self, folders: Iterable[AnyPath]) -> Evidence:
        """Return the present evidence of some folders; take it before what it stands for is read."""
        now = self._now()
        taken = [self._taken(str(folder)) for folder in folders]
        begun = min([one.begun_s for one in taken], default=now)
        ended = max([one.ended_s for one in taken], default=now)
        return Evidence(tuple([each for one in taken for each in one.listings]), begun, ended)

    def _taken(self, folder: str) -> Evidence:
        """Return the evidence of one folder, in a look the one that it began with."""
        if self._in_look is None:
            return self._listed_now(folder)
        if folder not in self._in_look:
            self._in_look[folder] = self._listed_now(folder)
        return self._in_look[folder]

    def _listed_now(self, folder: str) -> Evidence:
        """List a folder; the listing is the identical one while it is equal, which is faster to compare."""
        begun = self._now()
        now, before = listing(folder), self._listed.get(folder)
        found = self._listed[folder] = before if before == now else now
        return Evidence((found,), begun, self._now())

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


READ_ANEW: Final = ReadAnew()
