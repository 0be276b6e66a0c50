"""Sends bytes to an API server and reads its answers.

Takes calls; returns bodies and lines; every failure is one of our errors. Size and time of an answer are
limited. One call is one attempt: ``kube_api.caller`` paces and repeats. Redirections are not followed: no
answer may send our credentials elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from threading import Lock
from typing import Final, Protocol
from urllib.parse import urlencode

from kube_api.answers import refused
from kube_api.calls import Call
from kube_api.connections import Connections
from kube_api.deadline import Deadline
from kube_api.errors import NotConfigured
from kube_api.exchange import Exchange
from kube_api.kubernetes_parts import ConfigException, Configuration
from kube_api.lost import unavailable
from kube_api.pacing import Clock, Limits
from kube_api.stream import Stream

# The package gets the token at every call, and reads a pod's token file again once a minute.
_IDENTITY_LASTS_S: Final = 5.0
_UNAUTHORIZED: Final = HTTPStatus.UNAUTHORIZED
_MULTIPLE_CHOICES: Final = HTTPStatus.MULTIPLE_CHOICES


class Credentials(Protocol):
    """The address and the credentials on disk."""

    def load(self) -> Configuration:
        """Read them as they are now. Raises: NotConfigured."""
        ...


class Transport:
    """Connections to one API server. Safe between threads."""

    def __init__(self, credentials: Credentials, user_agent: str, limits: Limits, clock: Clock) -> None:
        self._credentials = credentials
        self._fields = (f"User-Agent: {user_agent}", "Accept: application/json", "Accept-Encoding: identity")
        self._limits = limits
        self._clock = clock
        self._lock = Lock()
        self._identity_ends_at = clock()
        self._use(credentials.load())

    def send(self, call: Call, ends_at_s: float) -> bytes:
        """Make one call and return the whole body. Raises: ApiError, and what its ``meanwhile`` raises."""
        deadline = Deadline(self._clock, ends_at_s, self._limits.read_timeout_s)
        exchange = self._open(call, deadline)
        body = exchange.body(self._limits.largest_body_bytes)
        if not exchange.response.is_framed:
            raise unavailable(call, "the connection broke before the answer was complete")
        return body

    def stream(self, call: Call, lasts_s: float) -> Stream:
        """Make one call whose answer is read line by line.

        Units:  ``lasts_s`` seconds after which the server is expected to end the answer; when it does not,
                the answer ends ``watch_idle_s`` later.
        Raises: ApiError.
        """
        limits, now = self._limits, self._clock()
        deadline = Deadline(self._clock, now + limits.call_timeout_s, limits.read_timeout_s)
        exchange = self._open(call, deadline)
        deadline.ends_at_s = now + lasts_s + limits.watch_idle_s
        deadline.idle_s = limits.watch_idle_s
        return Stream(call, exchange, limits.longest_line_bytes)

    def close(self) -> None:
        """Close the connections that are not in use; one that is in use is closed after its answer."""
        self._connections.close()

    def _open(self, call: Call, deadline: Deadline) -> Exchange:
        """Return a successful answer whose body is still to be read."""
        identity = self._identity(call)
        exchange = self._ask(call, identity, deadline, call.meanwhile)
        status, most_bytes = exchange.response.status, self._limits.largest_body_bytes
        if status == _UNAUTHORIZED and self._renew(identity):
            exchange.body(most_bytes)
            exchange = self._ask(call, self._identity(call), deadline, None)
            status = exchange.response.status
        if status < _MULTIPLE_CHOICES:
            return exchange
        raise refused(call, status, exchange.body(most_bytes), exchange.response.retry_after)

    def _ask(
        self, call: Call, identity: str, deadline: Deadline, meanwhile: Callable[[], None] | None
    ) -> Exchange:
        """Send a request, do ``meanwhile`` while the server thinks, and read the head of the answer."""
        connections = self._connections
        head = self._head(call, identity, connections)
        exchange = Exchange(call, connections, deadline)
        try:
            exchange.send(head)
            if meanwhile is not None:
                meanwhile()
            exchange.receive()
        except BaseException:
            exchange.close()
            raise
        return exchange

    def _head(self, call: Call, identity: str, connections: Connections) -> bytes:
        """Return the request line and the headers.

        Raises: ValueError for characters by which a server would read more headers or requests than these.
        """
        target = f"{connections.target}{call.path}"
        if call.query:
            target = f"{target}?{urlencode(call.query)}"
        lines = [f"{call.method} {target} HTTP/1.1", *connections.fields, *self._fields]
        if identity:
            lines.append(f"Authorization: {identity}")
        if call.body is not None:
            lines += (f"Content-Type: {call.content_type}", f"Content-Length: {len(call.body)}")
        text = "".join(lines)
        if " " in target or not (text.isascii() and text.isprintable()):
            raise ValueError(f"cannot {call.attempted} {target!r}: a request cannot have such characters")
        return "\r\n".join((*lines, "", "")).encode("ascii")

    def _identity(self, call: Call) -> str:
        """Return the Authorization header."""
        try:
            with self._lock:
                now = self._clock()
                if now >= self._identity_ends_at:
                    self._authorization = _authorization(self._configuration)
                    self._identity_ends_at = now + _IDENTITY_LASTS_S
                identity = self._authorization
        except (ConfigException, OSError) as problem:
            raise unavailable(call, f"the credentials cannot be read: {problem}", is_unsent=True) from problem
        if not (identity.isascii() and identity.isprintable()):
            raise unavailable(call, "the token has characters that a header cannot have", is_unsent=True)
        return identity

    def _renew(self, refused_identity: str) -> bool:
        """Load the configuration again and return whether the credentials have changed."""
        try:
            configuration = self._credentials.load()
        except NotConfigured:
            return False  # the server's answer is the better message
        if _authorization(configuration) == refused_identity:
            return False
        self._use(configuration)
        return True

    def _use(self, configuration: Configuration) -> None:
        connections = Connections(configuration, self._limits.connect_timeout_s)
        with self._lock:
            self._configuration = configuration
            self._identity_ends_at = self._clock()
            self._authorization = ""
            self._connections = connections


def _authorization(configuration: Configuration) -> str:
    """Return the header, empty without a token. Token files often end with a newline; a header must not."""
    settings = configuration.auth_settings()
    return str(settings["BearerToken"]["value"]).strip() if settings else ""
