"""Serves the page over HTTP: ``/``, its value as ``/value.json``, and its changes as ``/events``.

Nothing can be changed here. A browser sends a token as the password of a user of any name, other programs as
a bearer token. Without authorization the page is for a loopback address: then a request has to name one, so
that no page of somebody else's can read this one through a name that it lets point here.
"""

from __future__ import annotations

import base64
import binascii
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from daemon.authorization import Access
from daemon.page.document import document_of, policy_of_page
from daemon.page.hub import Ended, Hub
from daemon.page.options import RIGHT
from daemon.serving.bounded_server import OPEN, AddressServer, Protection
from daemon.serving.connections import Connections

PAGE: Final = "/"
_PATHS: Final = (PAGE, "/value.json", "/events")
_MOST: Final = 64
_STREAMS: Final = 32
"""Readers of changes at a time. The other connections are for who asks once, and for who may not ask."""
_LONGEST_S: Final = 3600.0  # a browser that is let go asks again
_PATIENCE_S: Final = 10.0  # with one who sends or reads too slowly
_SIGN_OF_LIFE_S: Final = 15.0
_BASIC: Final = "Basic "


class PageServer(AddressServer):
    """Answers for one hub. Shape: ``is_local`` where requests have to name a loopback address."""

    def __init__(self, address: tuple[str, int], hub: Hub, protection: Protection, *, is_local: bool) -> None:
        self.hub = hub
        self.is_local = is_local
        self.streams = threading.BoundedSemaphore(_STREAMS)
        connections = Connections(time.monotonic, most=_MOST, longest_s=_LONGEST_S)
        super().__init__(address, _Handler, protection, connections)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        """Answer one request. One that may not be made does not keep its connection before others."""
        path = self.path.partition("?")[0]
        if self.server.is_local and not is_loopback_host(self.headers.get("Host")):
            self._reply(421, "text/plain", b"this page is for the machine that it runs on\n")
        elif path not in _PATHS:
            self._reply(404, "text/plain", f"known paths are {', '.join(_PATHS)}\n".encode())
        elif (access := self._access()) is not Access.ALLOWED:
            self._reply(access.value[0], "text/plain", access.value[1].encode())
        else:
            self.server.connections.answering(self.connection)
            self._answer(path)

    def _answer(self, path: str) -> None:
        """Answer a request of a caller who may make it."""
        if path == PAGE:
            self._reply(200, "text/html", document_of(self.server.hub.text()).encode())
        elif path == "/value.json":
            self._reply(200, "application/json", self.server.hub.text().encode())
        elif self.server.streams.acquire(blocking=False):
            try:
                self._tell()
            finally:
                self.server.streams.release()
        else:
            text = f"{_STREAMS} readers follow the changes of this page, which is the most; come back later\n"
            self._reply(503, "text/plain", text.encode())

    def _access(self) -> Access:
        judge = self.server.protection.authorization
        return Access.ALLOWED if judge is None else judge.of(bearer(self.headers.get("Authorization")), RIGHT)

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", f"{policy_of_page()}; frame-ancestors 'none'")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        if status == Access.UNKNOWN.value[0]:
            self.send_header(
                "WWW-Authenticate", 'Basic realm="Tangram: the password is a token", charset="UTF-8"'
            )

    def _reply(self, status: int, kind: str, body: bytes) -> None:
        self._head(status, kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _tell(self) -> None:
        """Send the value, then its changes, until the reader goes or may not read it, or the server ends.

        Answers of the API server are remembered for a minute, so that a right that is gone ends it soon.
        """
        self._head(200, "text/event-stream")
        self.end_headers()
        number = None
        try:
            while True:
                found = self.server.hub.next(number, _SIGN_OF_LIFE_S)
                if self._access() is not Access.ALLOWED:
                    return
                number, told = (number, b": still here\n\n") if found is None else found
                self.wfile.write(told)
        except Ended:
            return

    def log_message(self, *_: object) -> None:
        """Log nothing: who reads the page is nobody's business."""


def bearer(header: str | None) -> str | None:
    """PURE: return an ``Authorization`` as a bearer token has it; a browser sends the token as a password."""
    if header is None or not header.startswith(_BASIC):
        return header
    try:
        text = base64.b64decode(header.removeprefix(_BASIC), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return f"Bearer {text.partition(':')[2]}"


def is_loopback_host(header: str | None) -> bool:
    """PURE: whether a ``Host`` names this machine, as its own programs do."""
    try:
        name = urlsplit(f"//{header or ''}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


@contextmanager
def serving_page(
    address: tuple[str, int], hub: Hub, protection: Protection = OPEN, *, is_local: bool
) -> Iterator[int]:
    """Serve while the block runs, and hand out the port. Raises: OSError where the address is in use."""
    server = PageServer(address, hub, protection, is_local=is_local)
    thread = threading.Thread(target=server.serve_forever, name="page", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        hub.end()
        server.shutdown()
        server.server_close()
