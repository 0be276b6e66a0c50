"""The HTTPS server of the webhook: one thread for each connection, a bounded number of them.

Takes an address and where the present certificate is; answers until it is ended. No client can keep another
one waiting: handshakes and reads are in the connections' threads, each phase has its time, and a connection
that has sent no whole request makes room when there are too many.
"""

from __future__ import annotations

import logging
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socket import AF_INET, AF_INET6, socket
from socketserver import BaseRequestHandler, TCPServer
from typing import Any, Final

from controller.webhook.connections import Book, Bounds, Connection, Phase
from controller.webhook.handler import Answers, Handler, Review

_ENDS_S: Final = 10.0
_TURN_S: Final = 0.0005
"""How long a thread that computes keeps the interpreter while others want it; Python's own is 5 ms.

A review takes and gives back the interpreter about five times. With 5 ms each, the webhook answers fewer than
500 reviews a second beside a thread that decides.
"""
_LOOKS_S: Final = 0.5  # how often it is looked for connections whose time is over

Contexts = Callable[[], ssl.SSLContext | None]
"""Returns the TLS settings with the present certificate, None while there is none.

It is asked at each connection, so a new certificate counts from the next one on.
"""
_log: Final = logging.getLogger(__name__)


class WebhookServer(TCPServer):
    """Listens from the start on; ``run`` answers."""

    request_queue_size = 128
    allow_reuse_address = True

    def __init__(
        self,
        address: tuple[str, int],
        *,
        contexts: Contexts,
        review: Review,
        is_ready: Callable[[], bool],
        observe: Callable[[int, float], None],
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contexts = contexts
        self._ending = threading.Event()
        self._book = Book(bounds or Bounds(), clock)
        self._answers = Answers(
            review=review, is_ready=is_ready, observe=observe, is_ending=self._ending.is_set
        )
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, BaseRequestHandler)  # process_request makes the handlers

    def run(self) -> None:
        """Answer until ``end`` is called by another thread. All threads of the process take short turns."""
        before_s = sys.getswitchinterval()
        sys.setswitchinterval(_TURN_S)
        try:
            self.serve_forever(_LOOKS_S)
        finally:
            sys.setswitchinterval(before_s)

    def end(self, linger_s: float = 0.0, grace_s: float = _ENDS_S) -> None:
        """End: requests under way are answered, everything else is closed.

        Units: seconds. During ``linger_s`` new requests are answered too, each as the last one of its
               connection, so that clients that still come by this address lose none. After ``grace_s`` more
               what is not answered is closed.
        """
        self._ending.set()
        time.sleep(linger_s)
        self.shutdown()
        self.server_close()
        self._book.close(Phase.NEW, Phase.WAITING)
        if not self._book.wait_until_empty(grace_s):
            self._book.close(*Phase)

    def get_request(self) -> tuple[socket, Any]:
        """Take a connection and leave its handshake to its own thread.

        Raises: OSError where there is no certificate, or the client is gone again.
        """
        plain, address = self.socket.accept()
        try:
            if (context := self._contexts()) is None:
                raise OSError("there is no certificate yet")
            return context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address
        except BaseException:
            plain.close()
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread."""
        connection = self._book.add(request)
        if connection is None:
            self.shutdown_request(request)
            return
        work = (request, client_address, connection)
        thread = threading.Thread(target=self._serve, args=work, name="review", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads
            self._book.remove(connection)
            raise

    def handle_error(self, request: object, client_address: Any) -> None:
        """Log a connection that could not be served. The server goes on."""
        del request
        _log.exception("a connection from %s was not served", client_address)

    def service_actions(self) -> None:
        """Close connections whose time is over. Called several times a second."""
        self._book.close_overdue()

    def _serve(self, request: ssl.SSLSocket, address: Any, connection: Connection) -> None:
        """Speak with one client until one of both ends it."""
        try:
            request.settimeout(self._book.bounds.request_s)
            request.do_handshake()
            Handler(request, address, self, answers=self._answers, book=self._book, connection=connection)
        except (OSError, ValueError):
            pass  # the client's doing: no TLS, a broken connection, a time that is over
        finally:
            self._book.remove(connection)
            with suppress(OSError):
                self.shutdown_request(request)


@contextmanager
def serving(server: WebhookServer) -> Iterator[int]:
    """Answer while the block runs, and hand out the port."""
    thread = threading.Thread(target=server.run, name="webhook", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.end()
        thread.join(_ENDS_S)
