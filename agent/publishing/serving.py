"""Metrics and probes over HTTP: ``/metrics``, ``/healthz``, ``/readyz``. Reads only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import Final

from agent.publishing.metrics import Metrics

_PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
_STUCK_S: Final = 300.0  # a GPU that answers slowly must not have the agent killed

Answer = tuple[int, str]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_port = True  # in a rolling update two agents share the host's address for a moment
    answers: dict[str, Callable[[], Answer]]

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10

    def do_GET(self) -> None:
        """Answer one of the known paths."""
        status, text = self.server.answers.get(self.path.partition("?")[0], _unknown)()
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", _PLAIN)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent: probes come every few seconds."""


def _unknown() -> Answer:
    return 404, "known are /metrics, /healthz and /readyz\n"


@contextmanager
def serving(
    address: tuple[str, int], metrics: Metrics, idle_s: Callable[[], float], is_ready: Callable[[], bool]
) -> Iterator[int]:
    """Serve while the block is open, and hand out the port. Raises: OSError where it is taken."""
    server = _Server(address)
    server.answers = {
        "/metrics": lambda: (200, metrics.text()),
        "/healthz": lambda: (200, "ok\n") if idle_s() < _STUCK_S else (500, f"stuck for {idle_s():.0f} s\n"),
        "/readyz": lambda: (200, "ok\n") if is_ready() else (503, "nothing is published yet\n"),
    }
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
