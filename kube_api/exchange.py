"""One question to an API server over one connection, and its answer.

Whoever asks has the connection for itself until the answer is read to its end; only then is it kept for the
next question. Every failure is one of our errors.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from http.client import IncompleteRead
from threading import Lock
from typing import Any, Final

from kube_api.answers import not_as_promised
from kube_api.calls import Call
from kube_api.connections import Connections
from kube_api.deadline import Deadline
from kube_api.errors import Withheld
from kube_api.lost import BROKEN, lost
from kube_api.response import TimedResponse

_PIECE_BYTES: Final = 64 * 1024
_WITHHELD: Final = "this program may not write any more"


class Exchange:
    """A question and its answer. For one thread, but for ``interrupt``. Close it."""

    def __init__(self, call: Call, connections: Connections, deadline: Deadline) -> None:
        """Take a connection. Raises: Unavailable, Untrusted."""
        self._call = call
        self._connections = connections
        self._deadline = deadline
        self._is_whole = False
        self._lock = Lock()
        try:
            self._connection: Any = connections.take(deadline)
        except BROKEN as problem:
            raise lost(call, problem, deadline, is_unsent=True) from problem
        self.response: Final = TimedResponse(self._connection.sock, deadline)

    def send(self, head: bytes) -> None:
        """Send the question; the guard is asked before the head and before the body.

        A server may answer and close the connection before it has read all, so that is no failure yet.
        Raises: Unavailable, Withheld.
        """
        call, sock = self._call, self._connection.sock
        try:
            for piece in (head,) if call.body is None else (head, call.body):
                if call.may_send is not None and not call.may_send():
                    raise Withheld(call.attempted, call.resource, **call.about(message=_WITHHELD))
                sock.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except BROKEN as problem:
            raise lost(call, problem, self._deadline) from problem

    def receive(self) -> None:
        """Read the head of the answer. Raises: Unavailable."""
        try:
            self.response.begin()
        except BROKEN as problem:
            raise lost(self._call, problem, self._deadline) from problem

    def piece(self) -> bytes:
        """Read the next piece of the body, empty at its end. Raises: Unavailable."""
        response = self.response
        try:
            piece = response.read1(_PIECE_BYTES)
            if (not piece and response.length) or (response.chunk_left or 0) < 0:
                raise IncompleteRead(b"")
        except BROKEN as problem:
            raise lost(self._call, problem, self._deadline) from problem
        self._is_whole = not piece
        return piece

    def body(self, most_bytes: int) -> bytes:
        """Read the whole body and close. Raises: Unavailable; BadReply where it is larger than allowed."""
        pieces, size = list[bytes](), 0
        try:
            while piece := self.piece():
                pieces.append(piece)
                size += len(piece)
                if size > most_bytes:
                    raise not_as_promised(self._call, f"it is larger than {most_bytes} bytes")
        finally:
            self.close()
        return b"".join(pieces)

    def interrupt(self) -> None:
        """Wake the thread that reads, from another thread: for the reader the connection breaks."""
        with self._lock, suppress(OSError, ValueError, AttributeError):  # it broke by itself in this moment
            if self._connection is not None:
                self._connection.sock.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Keep the connection if the answer was read to its end and the server goes on, else close it."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._is_whole and not self.response.will_close:
            self._connections.give_back(connection)
        else:
            connection.close()
