"""A small HTTP server: so many connections at most, each for so long, by TLS where that is wanted."""

from __future__ import annotations

import logging
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from socket import AF_INET, AF_INET6
from socketserver import ThreadingMixIn
from typing import Any, Final

from daemon.authorization import Authorization
from daemon.serving.connections import Connections

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Protection:
    """How an address is protected.

    Shape: ``context`` returns the TLS settings for a new connection, None while there are none; itself None
           for plain HTTP. ``authorization`` judges who asks for metrics, None where everybody may.
    """

    context: Callable[[], ssl.SSLContext | None] | None = None
    authorization: Authorization | None = None


OPEN: Final = Protection()
"""For whoever reaches the address."""


class Bounded(ThreadingMixIn):
    """A thread for each connection, a bounded number of them, none for long.

    Whatever clients do, it is neither a thread too many nor a line in the log.
    """

    daemon_threads = True
    request_queue_size = 128  # of five, as usual, a burst leaves clients that try again only after a second
    connections: Connections

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread."""
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that is served, or could not be."""
        self.connections.remove(request)
        super().shutdown_request(request)  # type: ignore[misc]  # the server that this is mixed into has it

    def service_actions(self) -> None:
        """Close connections whose time is over. Called several times a second."""
        self.connections.drop_overdue()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as the base has it
        """Log an answer that failed; a client that went away or was closed is no news."""
        if not isinstance(sys.exception(), OSError):
            _log.exception("a question about this program was not answered")


class AddressServer(Bounded, HTTPServer):
    """Answers on an address, each request by a new handler, and by TLS where the address is protected so."""

    allow_reuse_port = True  # during a rolling update two pods share the host's address for a moment

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        protection: Protection,
        connections: Connections,
    ) -> None:
        self.protection = protection
        self.connections = connections
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, handler)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; the thread that serves it makes the handshake. Raises: OSError."""
        plain, address = super().get_request()
        if self.protection.context is None:
            return plain, address
        try:
            context = self.protection.context()
            if context is None:
                raise OSError("there is no certificate yet")
            return context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address
        except BaseException:
            plain.close()
            raise
