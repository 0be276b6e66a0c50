"""An API server that follows a script, over real sockets; a clock; documents as a real one stores them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kube_api import Object
from kube_api.decoding import to_object
from kube_api.resources import RESOURCE_CLAIMS

Body = dict[str, Any] | bytes


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    port: int = 0  # of the client: the same one for calls on the same connection


@dataclass(frozen=True)
class Reply:
    """One whole answer."""

    body: Body = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """Lines of a watch; then the server ends it, cuts the connection, or says nothing any more."""

    lines: tuple[Body, ...] = ()
    then: str = "end"


@dataclass(frozen=True)
class Hang:
    """No answer at all until the test is over."""


@dataclass(frozen=True)
class Cut:
    """The connection closes without an answer, or in the middle of one."""

    after: bytes = b""


@dataclass(frozen=True)
class Raw:
    """An answer byte by byte; the connection stays open."""

    text: bytes


@dataclass(frozen=True)
class Endless:
    """An answer that begins with ``head`` and goes on with ``piece`` for as long as somebody reads."""

    head: bytes
    piece: bytes = b"x"


Answer = Reply | Stream | Hang | Cut | Raw | Endless | Callable[[Request], Reply]


class Script(ThreadingHTTPServer):
    """Gives the answers in their order, the last one for ever.

    Shape: ``asked`` is set once a request has its answer, ``hung_up`` once a connection has ended.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Request] = []
        self.over = Event()
        self.asked = Event()
        self.hung_up = Event()
        self._answers: list[Answer] = [Reply()]
        self._came = Condition()

    def answers(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def next(self, request: Request) -> Answer:
        with self._came:
            self.requests.append(request)
            self._came.notify_all()
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.asked.set()
        return answer

    def have_come(self, count: int) -> bool:
        """Wait up to 10 s for so many requests; return whether they came. Clients may give up before that."""
        with self._came:
            return self._came.wait_for(lambda: len(self.requests) >= count, 10.0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what these tests are about."""

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.hung_up.set()

    @property
    def said(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Script

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(
            self.command,
            url.path,
            dict(parse_qsl(url.query)),
            dict(self.headers),
            json.loads(body) if body else None,
            self.client_address[1],
        )
        answer = self.server.next(request)
        match answer if not callable(answer) else answer(request):
            case Reply() as reply:
                self._reply(reply)
            case Stream() as stream:
                self._stream(stream)
            case Hang():
                self.server.over.wait()
                self.close_connection = True
            case Cut(after=after):
                self.wfile.write(after)
                self.close_connection = True
            case Raw(text=text):
                self.wfile.write(text)
            case Endless() as endless:
                self._go_on(endless)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815  named by http.server

    def _reply(self, reply: Reply) -> None:
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(data)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _go_on(self, endless: Endless) -> None:
        self.close_connection = True
        self.wfile.write(endless.head)
        while not self.server.over.is_set():
            self.wfile.write(endless.piece)

    def _stream(self, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in stream.lines:
            data = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if stream.then == "end":
            self.wfile.write(b"0\r\n\r\n")
        elif stream.then == "hang":
            self.server.over.wait()
        self.close_connection = stream.then != "end"


@dataclass
class Clock:
    """Time that passes only when somebody sleeps, and by ``step_s`` whenever somebody looks at it."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)
    step_s: float = 0.0

    def __call__(self) -> float:
        self.now += self.step_s
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def serving(server: Script) -> Iterator[Script]:
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


def write_kubeconfig(path: Path, server: str, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "there", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "me", "user": user}],
        "contexts": [{"name": "usual", "context": {"cluster": "there", "user": "me"}}],
        "current-context": "usual",
    }
    path.write_text(json.dumps(document))
    return path


def document(name: str, version: int = 1, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, **fields}


def stored(name: str, version: int = 1) -> Object:
    return to_object(document(name, version), RESOURCE_CLAIMS)


def status(code: int, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return {**said, "reason": reason, "message": message, "details": details}
