"""Reports what happens to the objects of a kind, until it is stopped.

First come all objects, then each change in the server's order, whatever happens to the connection in between.

Source: Kubernetes API concepts, "Efficient detection of changes", "Watch bookmarks", "410 Gone responses".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kube_api.answers import broken_off, not_as_promised
from kube_api.caller import Caller
from kube_api.calls import Call, Selection
from kube_api.decoding import Line, Malformed, Reader, read_document, read_line, read_object, unreadable
from kube_api.errors import ApiError, BadReply, Expired, Invalid, Unavailable
from kube_api.listing import list_all
from kube_api.objects import Object, Unreadable
from kube_api.pacing import Backoff
from kube_api.versions import is_older

if TYPE_CHECKING:
    from kube_api.stream import Stream

T = TypeVar("T")
_SHORT_S: Final = 1.0  # a watch that ends sooner without a report has failed: servers end it after minutes
_NOTICE_S: Final = 1.0  # how long the thread that waits for the stop outlives its connection
_BAD_REPLIES: Final = 3  # so many in a row from one place in history, and the watch starts from a new list
_TOO_NEW: Final = "ResourceVersionTooLarge"


@dataclass(frozen=True, slots=True)
class Synced(Generic[T]):
    """All objects that exist. What the caller knows from before and does not find here is gone.

    Shape: ``unreadable`` exist too.
    """

    items: tuple[T, ...]
    resource_version: str
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Upserted(Generic[T]):
    """An object is new or has changed."""

    object: T


@dataclass(frozen=True, slots=True)
class Removed(Generic[T]):
    """An object is gone. Shape: ``object`` is its last state."""

    object: T


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The server cannot be heard for the moment; what the caller knows may be old."""

    error: ApiError
    retry_in_s: float


WatchEvent = Synced[T] | Upserted[T] | Removed[T] | Unreadable | Disconnected


class Watch(Generic[T]):
    """One watch with its place in the server's history. For one thread."""

    def __init__(
        self,
        caller: Caller,
        selection: Selection,
        page: int,
        keep: Callable[[Object], T],
        stop: Event,
        *,
        read: Reader = read_object,
    ) -> None:
        """Begin before the first list.

        Shape: ``keep`` says what to keep of an object; the rest is dropped before the next one is read;
               ``read`` reads it.
        """
        self._caller = caller
        self._selection = selection
        self._page = page
        self._keep = keep
        self._stop = stop
        self._read = read
        self._backoff: Backoff = caller.backoff(caller.limits.watch_longest_delay_s)
        self._version = ""
        self._has_moved = False  # an event came since the last list
        self._bad_replies = 0  # since the last event

    def events(self) -> Iterator[WatchEvent[T]]:
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
                    continue  # versions grow old; it is a failure only if a fresh one is too old
                delay_s = self._backoff.next(
                    problem.retry_after_s if isinstance(problem, Unavailable) else None
                )
                yield Disconnected(problem, delay_s)
                self._stop.wait(delay_s)

    def _list(self) -> Synced[T]:
        """Read everything, in one attempt: this watch repeats it, and can be stopped meanwhile."""
        listing = list_all(self._caller, self._selection, self._page, self._keep, attempts=1, read=self._read)
        self._version = listing.resource_version
        self._has_moved = False
        self._bad_replies = 0
        return Synced(listing.items, listing.resource_version, listing.unreadable)

    def _follow(self) -> Iterator[WatchEvent[T]]:
        """Yield the events of one connection until it ends as it should. Raises: ApiError."""
        lasts_s = max(1, int(self._caller.limits.watch_lasts_s * (1.0 + self._caller.random())))
        call = self._call(lasts_s)
        started = self._caller.clock()
        stream = self._caller.open(call, lasts_s)
        ended = Event()
        # Reading blocks, so another thread breaks the connection when the watch is stopped.
        Thread(target=_interrupt, args=(self._stop, ended, stream), name="kube-api-stop", daemon=True).start()
        has_line = False
        try:
            for line in stream.lines():
                if self._stop.is_set():
                    return
                has_line = True
                yield from self._told(call, line)
        finally:
            ended.set()
            stream.close()
        if not has_line and self._caller.clock() - started < _SHORT_S:
            raise Unavailable(
                call.attempted, call.resource, **call.about(message="the server ended it at once")
            )

    def _call(self, lasts_s: int) -> Call:
        return self._selection.call(
            "watch",
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(lasts_s),
        )

    def _told(self, call: Call, text: bytes) -> Iterator[WatchEvent[T]]:
        """Yield what a line reports, nothing for a bookmark. Raises: ApiError that ends this connection."""
        try:
            line = read_line(text)
            if line.type == "ERROR":
                raise broken_off(call, read_document(line.object))
            found = self._object(line)
        except Malformed as problem:
            raise not_as_promised(call, problem) from problem
        if not self._advance(found.metadata.resource_version):
            return
        if isinstance(found, Unreadable):
            yield found
        elif line.type in ("ADDED", "MODIFIED"):
            yield Upserted(self._keep(found))
        elif line.type == "DELETED":
            yield Removed(self._keep(found))

    def _object(self, line: Line) -> Object | Unreadable:
        """Read the object of a line. Raises: Malformed where not even its name and version can be read."""
        try:
            return self._read(line.object, self._selection.resource)
        except Malformed as problem:
            found = unreadable(bytes(line.object), problem, is_gone=line.type == "DELETED")
            if not (found.metadata.name and found.metadata.resource_version):
                raise
            return found

    def _advance(self, version: str) -> bool:
        """Move to ``version``; return whether it is new: events of a server that lags behind are dropped."""
        if is_older(version, self._version):
            return False
        self._version = version or self._version
        self._has_moved = True
        self._bad_replies = 0
        self._backoff.reset()
        return True

    def _must_list_after(self, problem: ApiError) -> bool:
        """Whether the present version cannot be used any more.

        A version from the future means that the server's storage was restored from a backup. A line that can
        never be read is passed by a new list.
        """
        self._bad_replies += isinstance(problem, BadReply)
        is_too_new = any(cause.reason == _TOO_NEW for cause in problem.causes)
        return isinstance(problem, Expired) or is_too_new or self._bad_replies >= _BAD_REPLIES


def _interrupt(stop: Event, ended: Event, stream: Stream) -> None:
    """Break the connection once ``stop`` is set, unless it ended before."""
    while not ended.is_set():
        if stop.wait(_NOTICE_S):
            stream.interrupt()
            return
