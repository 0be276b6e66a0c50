"""Metrics and probes over HTTP: ``/metrics``, ``/healthz``, ``/readyz``. Reads only.

On an address of the host two agents may answer while one replaces the other, and nobody knows which. On a
unix socket in a folder of its pod an agent answers for itself: that is what a probe asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Final

from agent.publishing.metrics import Metrics

_PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
_STUCK_S: Final = 300.0  # a GPU that answers slowly must not have the agent killed

Answer = tuple[int, str]
Answers = Mapping[str, Callable[[], Answer]]
"""What to answer, by path."""


def answers_of(metrics: Metrics, idle_s: Callable[[], float], is_ready: Callable[[], bool]) -> Answers:
    """Return what an agent answers. Units: ``idle_s`` seconds since its loop last turned."""
    return {
        "/metrics": lambda: (200, metrics.text()),
        "/healthz": lambda: (200, "ok\n") if idle_s() < _STUCK_S else (500, f"stuck for {idle_s():.0f} s\n"),
        "/readyz": lambda: (200, "ok\n") if is_ready() else (503, "nothing is published yet\n"),
    }


class _HostServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_port = True  # in a rolling update two agents share the host's address for a moment

    def __init__(self, address: tuple[str, int], answers: Answers) -> None:
        self.answers = answers
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, _Handler)


class _PodServer(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, answers: Answers) -> None:
        self.answers = answers
        super().__init__(str(path), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _HostServer | _PodServer
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
def serving(address: tuple[str, int], answers: Answers) -> Iterator[int]:
    """Serve while the block is open, and hand out the port. Raises: OSError where it is taken."""
    server = _HostServer(address, answers)
    with _running(server):
        yield server.server_address[1]


@contextmanager
def serving_probes(path: Path, answers: Answers) -> Iterator[None]:
    """Serve on a unix socket while the block is open. Raises: OSError where that cannot be had."""
    try:
        if path.is_socket():
            path.unlink()  # left by this container's last run: the folder is the pod's own
        server = _PodServer(path, answers)
    except OSError as error:
        remedy = "--probe-socket must name a path that is free, in a folder that is there"
        raise OSError(f"listen for probes on {path}: {error}; {remedy}") from error
    try:
        with _running(server):
            yield
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _running(server: _HostServer | _PodServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
