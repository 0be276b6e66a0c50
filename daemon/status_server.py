"""Serves metrics and probes over HTTP: ``/metrics``, ``/healthz``, ``/readyz``.

Nothing can be changed over an address; what can be changed over the unix socket is handed in.

During a rolling update two pods may share one host address, and a caller cannot know which of them answers.
So a kubelet's probe asks over a unix socket in a folder of the pod, where only that pod answers.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from random import random
from socketserver import UnixStreamServer
from types import MappingProxyType
from typing import Final

from daemon.authorization import Access
from daemon.backoff import Backoff
from daemon.metrics.registry import Registry
from daemon.serving.bounded_server import OPEN, AddressServer, Bounded, Protection
from daemon.serving.connections import LONGEST_S, Connections

_PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
_LONGEST_CHANGE: Final = 64  # bytes
METRICS_PATH: Final = "/metrics"
_STUCK_S: Final = 300.0  # long, because one slow device must not get the program killed
_ENDS_S: Final = 5.0
_WATCH_S: Final = 0.5
_TAKEN: Final = (
    "it is tried again and everything else goes on; the operator frees the address, "
    "or gives another one with --metrics-address"
)
_RETRIES: Final = Backoff(first=1.0, most=60.0)
_log = logging.getLogger(__name__)

Answer = tuple[int, str]
"""HTTP status and body."""

Answers = Mapping[str, Callable[[], Answer]]
"""What to answer, by path."""

Changes = Mapping[str, Callable[[str], Answer]]
"""What sets something to a text, by path."""
_NO_CHANGES: Final[Changes] = MappingProxyType({})


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
        METRICS_PATH: lambda: (200, metrics.text()),
        "/healthz": lambda: (200, "ok\n") if idle_s() < _STUCK_S else (500, f"stuck for {idle_s():.0f} s\n"),
        "/readyz": lambda: (200, "ok\n") if is_ready() else (503, f"{unready}\n"),
    }


class _AddressServer(AddressServer):
    changes = _NO_CHANGES

    def __init__(self, address: tuple[str, int], answers: Answers, protection: Protection = OPEN) -> None:
        self.answers = answers
        super().__init__(address, _Handler, protection, Connections(time.monotonic))


class _SocketServer(Bounded, UnixStreamServer):
    protection = OPEN

    def __init__(self, path: Path, answers: Answers, changes: Changes) -> None:
        self.answers = answers
        self.changes = changes
        self.connections = Connections(time.monotonic)
        super().__init__(str(path), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _AddressServer | _SocketServer
    timeout = LONGEST_S

    def do_GET(self) -> None:
        """Answer one request."""
        self.server.connections.answering(self.connection)
        answers, path = self.server.answers, self.path.partition("?")[0]
        access = self._access(path)
        if access is not Access.ALLOWED:
            self._reply(access.value, is_unknown=access is Access.UNKNOWN)
        elif path in answers:
            self._reply(answers[path]())
        else:
            self._reply((404, f"known paths are {', '.join(sorted(answers))}\n"))

    def do_PUT(self) -> None:
        """Change what a path names to the text that is sent."""
        change = self.server.changes.get(self.path)
        length = self.headers.get("Content-Length", "0")
        if change is None:
            self._reply((405, "this cannot be changed here\n"))
        elif not length.isascii() or not length.isdecimal() or int(length) > _LONGEST_CHANGE:
            self._reply((413, f"a value has at most {_LONGEST_CHANGE} bytes\n"))
        else:
            self._reply(change(self.rfile.read(int(length)).decode(errors="replace").strip()))

    def _reply(self, answer: Answer, *, is_unknown: bool = False) -> None:
        status, text = answer
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", _PLAIN)
        if is_unknown:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _access(self, path: str) -> Access:
        """Judge the caller; whether a program is well and ready is no secret."""
        judge = self.server.protection.authorization
        if judge is None or path != METRICS_PATH:
            return Access.ALLOWED
        return judge.of(self.headers.get("Authorization"), path)

    def log_message(self, *_: object) -> None:
        """Log nothing: probes come every few seconds."""


@contextmanager
def serving(address: tuple[str, int], answers: Answers, protection: Protection = OPEN) -> Iterator[int]:
    """Serve on an address while the block runs, and hand out the port. Raises: OSError if it is in use."""
    server = _AddressServer(address, answers, protection)
    with _running(server):
        yield server.server_address[1]


@contextmanager
def served_when_free(
    address: tuple[str, int],
    answers: Answers,
    pause: Callable[[float], object] | None = None,
    *,
    protection: Protection = OPEN,
) -> Iterator[None]:
    """Serve on an address while the block runs. While it cannot be had, it is logged and tried again.

    Nothing that the program is for waits for its metrics.
    Shape: ``pause`` waits between two attempts; None for the time itself. Units: seconds.
    """
    ended = threading.Event()
    work = (address, answers, protection, ended, pause or ended.wait)
    thread = threading.Thread(target=_serve_when_free, args=work, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_ENDS_S)


def _serve_when_free(
    address: tuple[str, int],
    answers: Answers,
    protection: Protection,
    ended: threading.Event,
    pause: Callable[[float], object],
) -> None:
    shown, told, backoff = f"{address[0] or '*'}:{address[1]}", "", _RETRIES
    while not ended.is_set():
        try:
            with serving(address, answers, protection):
                if told:
                    _log.info("metrics are served on %s now", shown)
                ended.wait()
        except OSError as error:
            if told != str(error):
                _log.warning("serve metrics on %s: %s; %s", shown, error, _TAKEN)
            told, backoff = str(error), backoff.failed()
            pause(backoff.wait(random()))  # noqa: S311 - spreads retries, nothing secret


@contextmanager
def serving_probes(path: Path, answers: Answers, changes: Changes = _NO_CHANGES) -> Iterator[None]:
    """Serve on a unix socket while the block runs. Raises: OSError if the socket cannot be made."""
    try:
        server = _listening(path, answers, changes)
    except OSError as error:
        remedy = "--probe-socket must name an unused path in an existing folder"
        raise OSError(f"listen for probes on {path}: {error}; {remedy}") from error
    _log.info("answers probes on %s", path)
    ended = threading.Event()
    thread = threading.Thread(target=_answer_probes, args=(server, path, ended), name="probes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_ENDS_S)
        path.unlink(missing_ok=True)


def _listening(path: Path, answers: Answers, changes: Changes) -> _SocketServer:
    if path.is_socket():
        path.unlink()  # this container's last run left it: the folder belongs to the pod alone
    return _SocketServer(path, answers, changes)


def _answer_probes(server: _SocketServer, path: Path, ended: threading.Event) -> None:
    """Answer on a socket until ``ended``; one that was removed is made again."""
    while True:
        with _running(server):
            while not ended.wait(_WATCH_S) and path.is_socket():
                pass
        trouble = ""
        while not ended.is_set():
            try:
                server = _listening(path, server.answers, server.changes)
                break
            except OSError as error:
                if str(error) != trouble:
                    _log.error("cannot listen for probes on %s again: %s; it is retried", path, error)
                trouble = str(error)
                ended.wait(_WATCH_S)
        if ended.is_set():
            return
        _log.warning("the socket for probes %s was removed; it is served again", path)


@contextmanager
def _running(server: _AddressServer | _SocketServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
