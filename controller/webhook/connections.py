"""The connections of the webhook: how many there may be, and which are closed when.

Takes sockets and the time; closes those that are overdue or in the way. Safe between threads.
"""

from __future__ import annotations

import enum
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass


class Phase(enum.Enum):
    """What a connection is doing."""

    NEW = "handshake and first request"
    WAITING = "between two requests"
    READING = "in the middle of a request that is not its first"
    ANSWERING = "the request is whole, the answer is made"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one server takes upon itself.

    Units:  seconds; bytes for ``body_bytes``. ``request_s`` is the time for handshake and first request, and
            for each further request from its first byte to its last. ``idle_s`` is longer than the 90 s
            after which an API server closes a connection itself: closed from here, a request that is on its
            way would be lost.
    Source: net/http DefaultTransport, IdleConnTimeout; apiserver MaxRequestBodyBytes, 3 MiB.
    """

    connections: int = 64
    request_s: float = 10.0
    idle_s: float = 300.0
    body_bytes: int = 3 * 1024 * 1024

    def seconds_of(self, phase: Phase) -> float | None:
        """Return how long a connection may be in a phase, None without a limit."""
        match phase:
            case Phase.NEW | Phase.READING:
                return self.request_s
            case Phase.WAITING:
                return self.idle_s
            case Phase.ANSWERING:
                return None


@dataclass(eq=False, slots=True)
class Connection:
    """One connection and what it is doing since when. Units: ``since_s`` of the book's clock."""

    socket: socket.socket
    since_s: float
    phase: Phase = Phase.NEW


def overdue(connections: Iterable[Connection], bounds: Bounds, now_s: float) -> list[Connection]:
    """Return the connections whose time is over."""

    def is_over(one: Connection) -> bool:
        limit_s = bounds.seconds_of(one.phase)
        return limit_s is not None and now_s - one.since_s >= limit_s

    return [one for one in connections if is_over(one)]


def in_the_way(connections: Iterable[Connection]) -> Connection | None:
    """Return the connection that makes room for a new one, None where all are being answered.

    Who has not sent a whole request yet goes first: an API server needs milliseconds for that.
    """
    order = {Phase.NEW: 0, Phase.READING: 1, Phase.WAITING: 2}
    found = [one for one in connections if one.phase in order]
    return min(found, key=lambda one: (order[one.phase], one.since_s), default=None)


class Book:
    """All open connections."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float]) -> None:
        self.bounds = bounds
        self._clock = clock
        self._open: set[Connection] = set()
        self._changed = threading.Condition()

    def add(self, one: socket.socket) -> Connection | None:
        """Note a new connection; another one makes room where there are too many. Shape: None: no room."""
        with self._changed:
            if len(self._open) >= self.bounds.connections:
                other = in_the_way(self._open)
                if other is None:
                    return None
                self._drop(other)
            connection = Connection(one, self._clock())
            self._open.add(connection)
            return connection

    def enter(self, connection: Connection, phase: Phase) -> None:
        """Note that a connection does something else now."""
        with self._changed:
            connection.phase, connection.since_s = phase, self._clock()

    def remove(self, connection: Connection) -> None:
        """Forget a connection; its thread closes it after that."""
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()

    def close_overdue(self) -> None:
        """Close the connections whose time is over."""
        with self._changed:
            for one in overdue(self._open, self.bounds, self._clock()):
                self._drop(one)

    def close(self, *phases: Phase) -> None:
        """Close the connections that are in one of these phases."""
        with self._changed:
            for one in [one for one in self._open if one.phase in phases]:
                self._drop(one)

    def wait_until_empty(self, timeout_s: float) -> bool:
        """Wait until no connection is open and return whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, timeout_s)

    def _drop(self, connection: Connection) -> None:
        """Break a connection: the thread that reads from it then gets an end of input and stops waiting.

        The caller holds the lock, so nobody closes the socket meanwhile.
        """
        self._open.discard(connection)
        with suppress(OSError):
            # Not the method of SSLSocket, which takes the TLS state away from the thread that reads.
            socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)
        self._changed.notify_all()
