"""Serves metrics and probes over HTTP: ``/metrics``, ``/healthz``, ``/readyz``. Nothing can be changed by it.

During a rolling update two pods may share one host address, and a caller cannot know which of them answers.
So a kubelet's probe asks over a unix socket in a folder of the pod, where only that pod answers.
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

from daemon.metrics import Registry

_PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
_STUCK_S: Final = 300.0  # long, because one slow device must not get the program killed

Answer = tuple[int, str]
"""HTTP status and body."""

Answers = Mapping[str, Callable[[], Answer]]
"""What to answer, by path."""


def answers_of(
    metrics: Registry,
    idle_s: Callable[[], float],
    is_ready: Callable[[], bool],
    unready: str = "not ready yet",
) -> Answers:
    """Return the answers of a program.

    Shape: ``unready`` is the text of ``/readyz`` while ``is_ready`` is false.
    Units: ``idle_s`` seconds since the program's loop last made a turn.
    """
    return {
        "/metrics": lambda: (200, metrics.text()),
        "/healthz": lambda: (200, "ok\n") if idle_s() < _STUCK_S else (500, f"stuck for {idle_s():.0f} s\n"),
        "/readyz": lambda: (200, "ok\n") if is_ready() else (503, f"{unready}\n"),
    }


class _AddressServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_port = True  # during a rolling update two pods share the host's address for a moment

    def __init__(self, address: tuple[str, int], answers: Answers) -> None:
        self.answers = answers
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, _Handler)


class _SocketServer(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, answers: Answers) -> None:
        self.answers = answers
        super().__init__(str(path), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _AddressServer | _SocketServer
    timeout = 10

    def do_GET(self) -> None:
        """Answer one request."""
        status, text = self.server.answers.get(self.path.partition("?")[0], _unknown)()
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", _PLAIN)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: probes come every few seconds."""


def _unknown() -> Answer:
    return 404, "known paths are /metrics, /healthz and /readyz\n"


@contextmanager
def serving(address: tuple[str, int], answers: Answers) -> Iterator[int]:
    """Serve on an address while the block runs, and hand out the port. Raises: OSError if it is in use."""
    server = _AddressServer(address, answers)
    with _running(server):
        yield server.server_address[1]


@contextmanager
def serving_probes(path: Path, answers: Answers) -> Iterator[None]:
    """Serve on a unix socket while the block runs. Raises: OSError if the socket cannot be made."""
    try:
        if path.is_socket():
            path.unlink()  # this container's last run left it: the folder belongs to the pod alone
        server = _SocketServer(path, answers)
    except OSError as error:
        remedy = "--probe-socket must name an unused path in an existing folder"
        raise OSError(f"listen for probes on {path}: {error}; {remedy}") from error
    try:
        with _running(server):
            yield
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _running(server: _AddressServer | _SocketServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
