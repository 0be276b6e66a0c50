"""A proxy before the API server that counts requests by client, and refuses or breaks them off on request.

Plain HTTP comes in, TLS with the cluster's credentials goes out; answers pass through as they stream.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_PASSED = ("Content-Type", "Accept")


class Upstream:
    """The API server of a kubeconfig that has a token and an authority's file."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self.token = config["users"][0]["user"]["token"]
        self._address = urlsplit(cluster["server"])
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])

    def connect(self) -> http.client.HTTPSConnection:
        host, port = self._address.hostname, self._address.port
        assert host is not None
        return http.client.HTTPSConnection(host, port, context=self._tls, timeout=60)


class MeddlingProxy(ThreadingHTTPServer):
    """A proxy that counts and meddles.

    Shape: ``asked`` counts ``METHOD plural`` (dry runs as ``DRY-RUN plural``), watches as ``WATCH``;
           ``undeletable`` are names of objects whose deletion is forbidden here.
    """

    daemon_threads = True

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.asked: Counter[str] = Counter()
        self.refusals: list[tuple[int, str]] = []
        self.undeletable: set[str] = set()
        self._watches: set[_Handler] = set()
        self._lock = threading.Lock()

    @property
    def kubeconfig(self) -> dict[str, Any]:
        """Return the kubeconfig of whoever goes through here."""
        address = f"http://127.0.0.1:{self.server_address[1]}"
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": address}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }

    def refuse(self, status: int, times: int, what: str = "") -> None:
        """Answer the next requests for objects with this status instead of passing them on.

        Shape: ``what`` as ``asked`` counts it; empty for all requests.
        """
        with self._lock:
            self.refusals += [(status, what)] * times

    def next_refusal(self, what: str) -> int | None:
        """Return the status to refuse with, if any."""
        with self._lock:
            meant = next((one for one in self.refusals if one[1] in ("", what)), None)
            if meant is None:
                return None
            self.refusals.remove(meant)
            return meant[0]

    def watching(self, handler: _Handler, is_on: bool) -> None:
        """Remember or forget a watch."""
        with self._lock:
            (self._watches.add if is_on else self._watches.discard)(handler)

    def break_watches(self) -> None:
        """Break every watch off in the middle of a line."""
        with self._lock:
            watches = tuple(self._watches)
        for handler in watches:
            handler.break_off()

    def writes(self, plural: str) -> int:
        """Return how many requests would have changed objects of a kind."""
        return sum(self.asked[f"{method} {plural}"] for method in ("POST", "PUT", "PATCH", "DELETE"))

    def reads(self) -> int:
        """Return how many requests only read, watches left out."""
        return sum(count for what, count in self.asked.items() if what.startswith(("GET ", "DRY-RUN ")))

    def handle_error(self, *_: object) -> None:
        """Stay silent: clients that go away are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    server: MeddlingProxy
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        split = urlsplit(self.path)
        plural = next((part for part in split.path.split("/")[4 if "/apis" in self.path else 3 :]), "")
        is_watch = "watch=true" in split.query
        method = "WATCH" if is_watch else "DRY-RUN" if "dryRun" in split.query else self.command
        asked = f"{method} {plural}"
        self.server.asked[asked] += 1
        is_forbidden = method == "DELETE" and split.path.rpartition("/")[2] in self.server.undeletable
        # What the server says of itself is nobody's object: a greeting takes no refusal away.
        status = 403 if is_forbidden else self.server.next_refusal(asked) if plural else None
        if status is not None:
            self._refuse(status)
            return
        connection = self.server.upstream.connect()
        try:
            headers = {key: value for key in _PASSED if (value := self.headers.get(key))}
            headers["Authorization"] = f"Bearer {self.server.upstream.token}"
            connection.request(self.command, self.path, body or None, headers)
            self._stream(connection.getresponse(), is_watch)
        except OSError:
            self.close_connection = True
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815 - the base class's names

    def _refuse(self, status: int) -> None:
        text = json.dumps({"kind": "Status", "status": "Failure", "message": "meddled with", "code": status})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def _stream(self, answer: http.client.HTTPResponse, is_watch: bool) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if is_watch:
            self.server.watching(self, True)
        try:
            while data := answer.read1():
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            self.server.watching(self, False)

    def break_off(self) -> None:
        """Send half a line and hang up."""
        with suppress(OSError):
            self.wfile.write(b'8\r\n{"type":\r\n')
            self.connection.shutdown(2)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextmanager
def meddling_proxy(kubeconfig: Path) -> Iterator[MeddlingProxy]:
    """Run a proxy before the API server of a kubeconfig while the block is open."""
    with MeddlingProxy(Upstream(kubeconfig)) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()
