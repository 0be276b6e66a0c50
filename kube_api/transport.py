"""Bytes to an API server and back, over the connection pool of the ``kubernetes`` package.

Calls enter, bodies and lines leave; every failure is one of our errors. One call is one attempt: pacing and
repeating are decided above. The package's models, Watch and informers are never used.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from threading import Lock
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import urllib3
from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException
from urllib3 import Retry, Timeout
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InsecureRequestWarning,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.util import parse_url

from kube_api import waiting
from kube_api.answers import refused
from kube_api.calls import Call
from kube_api.errors import NotConfigured, Unavailable, Untrusted
from kube_api.pacing import Clock, Limits

_CHUNK_BYTES: Final = 64 * 1024
# The package looks a token up at every question, and re-reads a pod's once a minute.
_IDENTITY_LASTS_S: Final = 5.0
# Repeating is decided above, and nobody may redirect our credentials.
_ONCE: Final = Retry.from_int(False, redirect=False)


class Credentials(Protocol):
    """Where to connect and as whom, as it is on disk now."""

    def load(self) -> Configuration:
        """Read it. Raises: NotConfigured."""
        ...


class Stream:
    """An answer that never ends, line by line."""

    def __init__(self, call: Call, response: urllib3.HTTPResponse) -> None:
        self._call = call
        self._response = response

    def idle_after(self, seconds: float) -> None:
        """Take the connection for dead when nothing came for so long."""
        connection: Any = self._response.connection  # typed as what all connections have, without ``sock``
        if connection is not None and connection.sock is not None:
            connection.sock.settimeout(seconds)

    def lines(self) -> Iterator[bytes]:
        """Yield complete lines as they come; what is left of a cut one is dropped.

        Raises: Unavailable when the connection breaks or stays silent.
        """
        rest = b""
        while chunk := self._read():
            *complete, rest = (rest + chunk).split(b"\n")
            yield from complete

    def _read(self) -> bytes:
        try:
            data: bytes = self._response.read1(_CHUNK_BYTES)
        except HTTPError as problem:
            raise lost(self._call, problem) from problem
        return data

    def interrupt(self) -> None:
        """Wake whoever reads, from another thread: for the reader the connection breaks."""
        with suppress(OSError, RuntimeError, ValueError):  # it broke or ended by itself in this moment
            self._response.shutdown()

    def close(self) -> None:
        """Give the connection up; it is never used again."""
        self._response.close()


class Transport:
    """Connections to one API server. Safe between threads."""

    def __init__(self, credentials: Credentials, user_agent: str, limits: Limits, clock: Clock) -> None:
        self._credentials = credentials
        self._user_agent = user_agent
        self._timeout = Timeout(connect=limits.connect_timeout_s, read=limits.read_timeout_s)
        self._clock = clock
        self._lock = Lock()
        self._identity_ends_at = clock()
        self._use(credentials.load())

    def send(self, call: Call) -> bytes:
        """Make one call and return the whole body. Raises: ApiError, and what its ``meanwhile`` raises."""
        with waiting.meanwhile(call.meanwhile):
            response = self._open(call)
        try:
            is_framed = response.chunked or response.length_remaining is not None
            body = response.read()
        except HTTPError as problem:
            raise lost(call, problem) from problem
        finally:
            response.release_conn()
        if not is_framed:
            # Cut within the headers it looks like this, and http.client takes it for whole.
            raise _unavailable(call, "the connection broke before the answer was complete")
        return body

    def stream(self, call: Call) -> Stream:
        """Make one call whose answer is read line by line. Raises: ApiError."""
        return Stream(call, self._open(call))

    def close(self) -> None:
        """Close the connections that wait in the pool."""
        self._pool.clear()

    def _open(self, call: Call) -> urllib3.HTTPResponse:
        """Return a successful answer whose body is still to be read."""
        identity = self._identity(call)
        response = self._request(call, identity)
        if response.status == HTTPStatus.UNAUTHORIZED and self._renew(identity):
            response.drain_conn()
            response = self._request(call, self._identity(call))
        if response.status < HTTPStatus.MULTIPLE_CHOICES:
            return response
        try:
            body = response.read()
        except HTTPError as problem:
            raise lost(call, problem) from problem
        finally:
            response.release_conn()
        raise refused(call, response.status, body, response.headers.get("Retry-After"))

    def _request(self, call: Call, identity: str) -> urllib3.HTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": self._user_agent}
        if identity:
            headers["Authorization"] = identity
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        query = f"?{urlencode(call.query)}" if call.query else ""
        try:
            response: urllib3.HTTPResponse = self._door(
                call.method,
                f"{call.path}{query}",
                body=call.body,
                headers=headers,
                timeout=self._timeout,
                preload_content=False,
                retries=_ONCE,
                redirect=False,
            )
        except HTTPError as problem:
            raise lost(call, problem) from problem
        return response

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
            raise _unavailable(
                call, f"the credentials cannot be read: {problem}", is_unsent=True
            ) from problem
        if not (identity.isascii() and identity.isprintable()):
            raise _unavailable(call, "the token has characters that no token has", is_unsent=True)
        return identity

    def _renew(self, refused_identity: str) -> bool:
        """Load the configuration again and tell whether it says something new."""
        try:
            configuration = self._credentials.load()
        except NotConfigured:
            return False  # the server's answer is the better message
        if _authorization(configuration) == refused_identity:
            return False
        self._use(configuration)
        return True

    def _use(self, configuration: Configuration) -> None:
        if not configuration.verify_ssl:
            urllib3.disable_warnings(InsecureRequestWarning)  # whoever wrote the kubeconfig decided it
        pool = RESTClientObject(configuration).pool_manager
        waiting.let_work(pool)
        with self._lock:
            self._configuration = configuration
            self._identity_ends_at = self._clock()
            self._authorization = ""
            self._door = _door(pool, configuration.host.rstrip("/"))
            self._pool = pool


def _door(pools: urllib3.PoolManager, host: str) -> Callable[..., Any]:
    """Return what sends a request to a path of one server."""
    if pools.proxy is not None:
        return lambda method, path, **request: pools.urlopen(method, f"{host}{path}", **request)
    # Without a proxy the server's connections need not be looked up for every request.
    url = parse_url(host)
    connections = pools.connection_from_host(url.host, url.port, url.scheme)
    prefix = url.path or ""
    return lambda method, path, **request: connections.urlopen(
        method, f"{prefix}{path}", assert_same_host=False, **request
    )


def _authorization(configuration: Configuration) -> str:
    """Return the header, empty without one. Token files end with a newline often, and a header may not."""
    settings = configuration.auth_settings()
    return str(settings["BearerToken"]["value"]).strip() if settings else ""


def lost(call: Call, problem: HTTPError) -> Unavailable:
    """Return the error for a call that got no answer, or not a whole one."""
    cause = problem.args[0] if isinstance(problem, SSLError) and problem.args else None
    if isinstance(cause, ssl.SSLCertVerificationError | FileNotFoundError):
        return Untrusted(call.attempted, call.resource, is_unsent=True, **call.about(message=f"TLS: {cause}"))
    if isinstance(problem, ReadTimeoutError):
        return _unavailable(call, "the server said nothing for too long")
    return _unavailable(
        call, str(problem), is_unsent=isinstance(problem, NewConnectionError | ConnectTimeoutError)
    )


def _unavailable(call: Call, message: str, *, is_unsent: bool = False) -> Unavailable:
    return Unavailable(call.attempted, call.resource, is_unsent=is_unsent, **call.about(message=message))
