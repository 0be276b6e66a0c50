"""A proxy before an API server that cuts connections and changes watches where a test says, and counts.

Plain HTTP comes in, TLS with the token of a kubeconfig goes out; answers pass through as they stream.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from real_api import ADMIN, RealApi

_PASSED = ("Content-Type", "Accept")


class Cut(Enum):
    """Where a connection is cut."""

    BEFORE = "before the request"
    AFTER = "after the request, before the answer"


class CuttingProxy(ThreadingHTTPServer):
    """A proxy.

    Shape: ``cut`` is asked with the method and path of each request, None lets it pass; a ``cut`` that does
           not return holds the request back. ``spoil`` gets the lines of each watch and returns what the
           client gets. ``asked`` counts ``METHOD plural``, with ``WATCH`` for watches, ``answered`` the same
           with the status.
    """

    daemon_threads = True

    def __init__(self, server: RealApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = server
        self.tls = ssl.create_default_context(cafile=str(server.certificate / "tls.crt"))
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.cut: Callable[[str, str], Cut | None] = lambda _method, _path: None
        self.spoil: Callable[[Iterator[bytes]], Iterator[bytes]] = lambda lines: lines
        self.watches: set[_Handler] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def break_watches(self) -> None:
        """Hang up on everybody who watches."""
        for one in tuple(self.watches):
            one.connection.shutdown(2)

    def handle_error(self, *_: object) -> None:
        """Stay silent: connections that break are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    server: CuttingProxy
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        split = urlsplit(self.path)
        is_watch = "watch=true" in split.query
        method = "WATCH" if is_watch else self.command
        self.server.asked[f"{method} {_plural(split.path)}"] += 1
        cut = None if is_watch else self.server.cut(method, split.path)
        if cut is Cut.BEFORE:
            self._hang_up()
            return
        upstream = self.server.upstream
        connection = http.client.HTTPSConnection(
            "127.0.0.1", upstream.port, context=self.server.tls, timeout=120
        )
        try:
            headers = {key: value for key in _PASSED if (value := self.headers.get(key))}
            connection.request(
                self.command, self.path, body or None, {**headers, "Authorization": f"Bearer {ADMIN}"}
            )
            answer = connection.getresponse()
            self.server.answered[f"{method} {_plural(split.path)} {answer.status}"] += 1
            if cut is Cut.AFTER:
                answer.read()
                self._hang_up()
            else:
                self._stream(answer, is_watch)
        except OSError:
            self.close_connection = True
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815 - the base class's names

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    def _stream(self, answer: http.client.HTTPResponse, is_watch: bool) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        parts = iter(lambda: answer.read1(65536), b"")
        if is_watch:
            self.server.watches.add(self)
            parts = self.server.spoil(iter(answer.readline, b""))
        try:
            for data in parts:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            self.server.watches.discard(self)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def _plural(path: str) -> str:
    parts = [one for one in path.split("/") if one]
    start = 3 if parts[0] == "apis" else 2
    rest = parts[start:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return rest[0] if rest else ""


@contextmanager
def cutting_proxy(server: RealApi) -> Iterator[CuttingProxy]:
    """Run a proxy while the block is open."""
    with CuttingProxy(server) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()
