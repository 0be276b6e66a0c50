"""The open connections of a small server: at most so many, each for so long.

Takes sockets and the time; closes those that are in the way or overdue. Safe between threads.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

MOST: Final = 32
"""Enough for every scraper of a node at once; each is answered within milliseconds."""
LONGEST_S: Final = 10.0


@dataclass(eq=False, slots=True)
class Connection:
    """One connection. Shape: ``is_answered`` once its request is whole. Units: ``since_s`` of the clock."""

    socket: socket.socket
    since_s: float
    is_answered: bool = False


def in_the_way(connections: Iterable[Connection]) -> Connection:
    """Return the connection that makes room: who has sent no request yet goes first, then the oldest."""
    return min(connections, key=lambda one: (one.is_answered, one.since_s))


def overdue(connections: Iterable[Connection], now_s: float, longest_s: float) -> list[Connection]:
    """Return the connections whose time is over. Units: seconds."""
    return [one for one in connections if now_s - one.since_s >= longest_s]


class Connections:
    """All open connections of one server. Units: ``longest_s`` seconds of ``clock``."""

    def __init__(self, clock: Callable[[], float], *, most: int = MOST, longest_s: float = LONGEST_S) -> None:
        self._clock = clock
        self._most = most
        self._longest_s = longest_s
        self._lock = threading.Lock()
        self._open: dict[socket.socket, Connection] = {}

    def add(self, one: socket.socket) -> None:
        """Note a new connection; another one makes room where there are too many."""
        with self._lock:
            if len(self._open) >= self._most:
                self._drop(in_the_way(self._open.values()))
            self._open[one] = Connection(one, self._clock())

    def answering(self, one: socket.socket) -> None:
        """Note that a connection's request is whole: it no longer makes room before others."""
        with self._lock:
            if one in self._open:
                self._open[one].is_answered = True

    def remove(self, one: socket.socket) -> None:
        """Forget a connection; whoever removes it closes it after that."""
        with self._lock:
            self._open.pop(one, None)

    def drop_overdue(self) -> None:
        """Wake the threads of the connections whose time is over; for them these are broken now."""
        with self._lock:
            for one in overdue(self._open.values(), self._clock(), self._longest_s):
                self._drop(one)

    def _drop(self, connection: Connection) -> None:
        """Break a connection. The lock keeps its socket open meanwhile."""
        del self._open[connection.socket]
        with suppress(OSError):  # the client was quicker
            connection.socket.shutdown(socket.SHUT_RDWR)
