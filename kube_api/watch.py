"""What happens to the objects of a kind, from now on and for ever.

A selection enters; first all objects leave, then each change in the server's order, whatever happens to the
connection in between. It ends only when it is told to. What the changes mean is the caller's business.

Source: Kubernetes API concepts, "Efficient detection of changes", "Watch bookmarks", "410 Gone responses".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

import msgspec

from kube_api.answers import broken_off, unreadable
from kube_api.caller import Caller
from kube_api.calls import Call, Selection
from kube_api.errors import ApiError, Expired, Invalid, Unavailable
from kube_api.listing import list_all
from kube_api.objects import Object, line_decoder, to_object
from kube_api.pacing import Backoff

if TYPE_CHECKING:
    from kube_api.transport import Stream

_SHORT_S: Final = 1.0  # a watch that ends sooner without a word is a failure, not the server's usual end
_NOTICE_S: Final = 1.0  # how long the thread that waits for the end outlives its connection
_TOO_NEW: Final = "ResourceVersionTooLarge"


@dataclass(frozen=True, slots=True)
class Synced:
    """All objects there are: whatever the caller knew before and does not find here is gone."""

    items: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Upserted:
    """An object that is new or changed."""

    object: Object


@dataclass(frozen=True, slots=True)
class Removed:
    """An object that is gone, as it was last."""

    object: Object


@dataclass(frozen=True, slots=True)
class Disconnected:
    """Nothing is known for the moment; what the caller has may be old."""

    error: ApiError
    retry_in_s: float


Change = Synced | Upserted | Removed | Disconnected


class Watch:
    """One watch with its place in the server's history. For one thread."""

    def __init__(self, caller: Caller, selection: Selection, page: int, stop: Event) -> None:
        self._caller = caller
        self._selection = selection
        self._page = page
        self._stop = stop
        self._backoff: Backoff = caller.backoff(caller.limits.watch_longest_delay_s)
        self._version = ""
        self._has_moved = False  # something came since the last list

    def changes(self) -> Iterator[Change]:
        """Yield what happens until ``stop`` is set. Raises: Invalid for selectors that cannot be right."""
        while not self._stop.is_set():
            try:
                if not self._version:
                    yield self._list()
                yield from self._follow()
            except Invalid:
                raise
            except ApiError as problem:
                if self._stop.is_set():
                    return
                if self._must_list_after(problem):
                    self._version = ""
                if isinstance(problem, Expired) and self._has_moved:
                    continue  # a version grows old; only one that is old when it is fresh is a failure
                delay_s = self._backoff.next(
                    problem.retry_after_s if isinstance(problem, Unavailable) else None
                )
                yield Disconnected(problem, delay_s)
                self._stop.wait(delay_s)

    def _list(self) -> Synced:
        """Read everything, once: repeating is this watch's own business, and it can be stopped."""
        listing = list_all(self._caller, self._selection, self._page, attempts=1)
        self._version = listing.resource_version
        self._has_moved = False
        return Synced(listing.items)

    def _follow(self) -> Iterator[Change]:
        """Yield the changes of one connection until it ends as it should. Raises: ApiError."""
        call = self._call()
        started = self._caller.clock()
        stream = self._caller.open(call)
        ended = Event()
        # Reading blocks, so another thread breaks the connection when the end is wanted.
        Thread(target=_interrupt, args=(self._stop, ended, stream), name="kube-api-stop", daemon=True).start()
        has_line = False
        try:
            stream.idle_after(self._caller.limits.watch_idle_s)
            for line in stream.lines():
                if self._stop.is_set():
                    return
                has_line = True
                yield from self._changes(call, line)
        finally:
            ended.set()
            stream.close()
        if not has_line and self._caller.clock() - started < _SHORT_S:
            raise Unavailable(
                call.attempted, call.resource, **call.about(message="the server ended it at once")
            )

    def _call(self) -> Call:
        spread = 1.0 + self._caller.random()
        return self._selection.call(
            "watch",
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(max(1, int(self._caller.limits.watch_lasts_s * spread))),
        )

    def _changes(self, call: Call, line: bytes) -> Iterator[Change]:
        """Yield what a line means, nothing for a bookmark. Raises: ApiError that ends this connection."""
        try:
            event = line_decoder.decode(line)
            if event.type == "ERROR":
                raise broken_off(call, event.object)
            changed = to_object(event.object, self._selection.resource)
        except msgspec.DecodeError as problem:
            raise unreadable(call, problem) from problem
        if not self._advance(changed.metadata.resource_version):
            return
        if event.type in ("ADDED", "MODIFIED"):
            yield Upserted(changed)
        elif event.type == "DELETED":
            yield Removed(changed)

    def _advance(self, version: str) -> bool:
        """Move to ``version`` and tell whether it is news: a server that lags does not turn time back."""
        if _is_older(version, self._version):
            return False
        self._version = version or self._version
        self._has_moved = True
        self._backoff.reset()
        return True

    def _must_list_after(self, problem: ApiError) -> bool:
        """Tell whether the place in history is of no use any more.

        A version from the future means that the server's storage was restored from a backup.
        """
        return isinstance(problem, Expired) or any(cause.reason == _TOO_NEW for cause in problem.causes)


def _is_older(version: str, known: str) -> bool:
    """Compare two resource versions; what is no number is never older (KEP-5504)."""
    return version.isdecimal() and known.isdecimal() and int(version) < int(known)


def _interrupt(stop: Event, ended: Event, stream: Stream) -> None:
    """Break the connection once ``stop`` is set, unless it ended before."""
    while not ended.is_set():
        if stop.wait(_NOTICE_S):
            stream.interrupt()
            return
