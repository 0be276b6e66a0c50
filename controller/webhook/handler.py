"""One connection of the webhook: reads its requests one after another and answers each.

Takes a socket; writes answers. ``POST /mutate`` is answered by the review function, ``GET /readyz`` by the
program; everything else gets a sentence.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from typing import Any, Final

import msgspec

from controller.webhook.connections import Book, Connection, Phase
from controller.webhook.envelope import MalformedReview, read_review

MUTATE: Final = "/mutate"
READY: Final = "/readyz"
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_log: Final = logging.getLogger(__name__)

Review = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Answers one review with a review. Raises: MalformedReview. Called by many threads at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the webhook answers with.

    Shape: ``observe`` is told the status of each answer to a review, and the seconds from the whole request
           to the answer.
    """

    review: Review
    is_ready: Callable[[], bool]
    observe: Callable[[int, float], None]
    is_ending: Callable[[], bool]


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP/1.1 on one connection, which stays open between requests."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tangram", ""
    # Header and body of an answer leave in one piece and at once: 40 times as many requests a second as with
    # the defaults of http.server.
    wbufsize = -1
    disable_nagle_algorithm = True

    def __init__(
        self,
        request: ssl.SSLSocket,
        address: Any,
        server: BaseServer,
        *,
        answers: Answers,
        book: Book,
        connection: Connection,
    ) -> None:
        self._answers = answers
        self._book = book
        self._noted = connection
        self._is_first = True
        super().__init__(request, address, server)

    def handle_one_request(self) -> None:
        """Wait for a request, then read and answer it."""
        if not self._is_first:
            self._book.enter(self._noted, Phase.WAITING)
            self.connection.settimeout(None)  # the book closes what waits for too long
            self.rfile.peek(1)  # type: ignore[attr-defined]  # a BufferedReader: waits for the first byte
            self.connection.settimeout(self._book.bounds.request_s)
            self._book.enter(self._noted, Phase.READING)
        self._is_first = False
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answer a probe."""
        if self._path != READY:
            self._say(HTTPStatus.NOT_FOUND, f"nothing to read but {READY}")
        elif self._answers.is_ready():
            self._say(HTTPStatus.OK, "ok")
        else:
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, "not ready yet")

    def do_POST(self) -> None:
        """Answer a review."""
        if self._path != MUTATE:
            self._refuse(HTTPStatus.NOT_FOUND, f"reviews are answered at {MUTATE} only")
        elif (body := self._body()) is not None:
            self._book.enter(self._noted, Phase.ANSWERING)
            started_s = time.perf_counter()
            status = self._reviewed(body)
            self._answers.observe(status, time.perf_counter() - started_s)

    def _reviewed(self, body: bytes) -> int:
        """Answer the review that a body is and return the status of the answer."""
        try:
            answer = msgspec.json.encode(self._answers.review(read_review(body)))
        except MalformedReview as error:
            return self._say(HTTPStatus.BAD_REQUEST, f"cannot review: {error}")
        except Exception:  # noqa: BLE001  # the outermost loop of this thread: one review ends, not the server
            _log.exception("a review was not answered")
            return self._say(HTTPStatus.INTERNAL_SERVER_ERROR, "cannot review: see the controller's log")
        return self._send(HTTPStatus.OK, _JSON, answer)

    def _body(self) -> bytes | None:
        """Return the whole body; None where it was refused, or ended early."""
        if "Transfer-Encoding" in self.headers or "Content-Length" not in self.headers:
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "a review must come with its Content-Length")
            return None
        text, most = self.headers["Content-Length"], self._book.bounds.body_bytes
        if not (text.isascii() and text.isdecimal()):
            self._refuse(HTTPStatus.BAD_REQUEST, "Content-Length must be a number of bytes")
            return None
        if len(text) > len(str(most)) or (length := int(text)) > most:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a review may have {most} bytes")
            return None
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return None
        return body

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        """Answer without reading the body, so nothing can follow on this connection."""
        self.close_connection = True
        self._say(status, sentence)

    def _say(self, status: int, sentence: str) -> int:
        return self._send(status, _TEXT, f"{sentence}\n".encode())

    def _send(self, status: int, kind: str, body: bytes) -> int:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection or self._answers.is_ending():
            self.send_header("Connection", "close")  # sets close_connection, too
        self.end_headers()
        self.wfile.write(body)
        return status

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no HTTP request with a sentence, and close."""
        del explain
        self._refuse(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def log_message(self, *_: object) -> None:
        """Log nothing: reviews come by the hundred."""
