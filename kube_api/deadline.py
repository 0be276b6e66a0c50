"""The time that an answer may take, kept at every read of a connection.

A socket's own timeout starts again with each byte, so a server that sends one byte now and then holds a call
for ever. A deadline does not start again.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kube_api.pacing import Clock

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@dataclass(slots=True)
class Deadline:
    """When an answer must be there, and how long the server may be silent until then.

    Units: ``ends_at_s`` as ``clock`` counts; ``idle_s`` seconds.
    """

    clock: Clock
    ends_at_s: float
    idle_s: float

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return self.clock() >= self.ends_at_s

    def wait_s(self) -> float:
        """Return how long the next read may wait. Raises: TimeoutError once the time is used up."""
        left_s = self.ends_at_s - self.clock()
        if left_s <= 0:
            raise TimeoutError("the deadline has passed")
        return min(self.idle_s, left_s)


class TimedReads(io.RawIOBase):
    """What a socket receives. Every read keeps a deadline; closing it leaves the socket open."""

    def __init__(self, sock: Any, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return it as the file that http.client asks a socket for."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Receive what is there, or wait for something. Raises: OSError, TimeoutError."""
        self._sock.settimeout(self._deadline.wait_s())
        count: int = self._sock.recv_into(buffer)
        return count
