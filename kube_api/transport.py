"""Sends bytes to an API server and reads its answers, over the connection pool of the ``kubernetes`` package.

Takes calls; returns bodies and lines; every failure is one of our errors. Size and time of an answer are
limited. One call is one attempt: ``kube_api.caller`` paces and repeats. The package's models, Watch and
informers are never used.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from threading import Lock
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import urllib3
from urllib3 import Retry, Timeout
from urllib3.exceptions import HTTPError, InsecureRequestWarning
from urllib3.util import parse_url

from kube_api import connections
from kube_api.answers import not_as_promised, refused
from kube_api.calls import Call
from kube_api.deadline import Deadline
from kube_api.errors import NotConfigured, Withheld
from kube_api.kubernetes_parts import ConfigException, Configuration, RESTClientObject
from kube_api.lost import lost, unavailable
from kube_api.pacing import Clock, Limits
from kube_api.stream import Stream

# The package gets the token at every call, and reads a pod's token file again once a minute.
_IDENTITY_LASTS_S: Final = 5.0
# kube_api.caller repeats calls, and no answer may send our credentials elsewhere.
_ONCE: Final = Retry.from_int(False, redirect=False)


class Credentials(Protocol):
    """The address and the credentials on disk."""

    def load(self) -> Configuration:
        """Read them as they are now. Raises: NotConfigured."""
        ...


class Transport:
    """Connections to one API server. Safe between threads."""

    def __init__(self, credentials: Credentials, user_agent: str, limits: Limits, clock: Clock) -> None:
        self._credentials = credentials
        self._user_agent = user_agent
        self._limits = limits
        self._timeout = Timeout(connect=limits.connect_timeout_s, read=limits.read_timeout_s)
        self._clock = clock
        self._lock = Lock()
        self._identity_ends_at = clock()
        self._use(credentials.load())

    def send(self, call: Call, ends_at_s: float) -> bytes:
        """Make one call and return the whole body. Raises: ApiError, and what its ``meanwhile`` raises."""
        deadline = Deadline(self._clock, ends_at_s, self._limits.read_timeout_s)
        response = self._open(call, deadline)
        is_framed = response.chunked or response.length_remaining is not None
        body = self._whole(call, response, deadline)
        if not is_framed:
            # An answer that ends within its headers looks complete to http.client.
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
        response = self._open(call, deadline)
        deadline.ends_at_s = now + lasts_s + limits.watch_idle_s
        deadline.idle_s = limits.watch_idle_s
        return Stream(call, response, deadline, limits.longest_line_bytes)

    def close(self) -> None:
        """Close the connections that wait in the pool."""
        self._pool.clear()

    def _open(self, call: Call, deadline: Deadline) -> urllib3.HTTPResponse:
        """Return a successful answer whose body is still to be read."""
        with connections.requesting(deadline, call.meanwhile, call.may_send):
            identity = self._identity(call)
            response = self._request(call, identity, deadline)
            if response.status == HTTPStatus.UNAUTHORIZED and self._renew(identity):
                self._whole(call, response, deadline)
                response = self._request(call, self._identity(call), deadline)
        if response.status < HTTPStatus.MULTIPLE_CHOICES:
            return response
        body = self._whole(call, response, deadline)
        raise refused(call, response.status, body, response.headers.get("Retry-After"))

    def _whole(self, call: Call, response: urllib3.HTTPResponse, deadline: Deadline) -> bytes:
        """Return the whole body of an answer and give its connection back. Raises: Unavailable, BadReply."""
        limit = self._limits.largest_body_bytes
        pieces, size = list[bytes](), 0
        try:
            while piece := response.read(limit + 1 - size):
                pieces.append(piece)
                size += len(piece)
                if size > limit:
                    response.close()
                    raise not_as_promised(call, f"it is larger than {limit} bytes")
        except HTTPError as problem:
            raise lost(call, problem, deadline) from problem
        finally:
            response.release_conn()
        return b"".join(pieces)

    def _request(self, call: Call, identity: str, deadline: Deadline) -> urllib3.HTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": self._user_agent}
        if identity:
            headers["Authorization"] = identity
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        query = f"?{urlencode(call.query)}" if call.query else ""
        try:
            response: urllib3.HTTPResponse = self._send(
                call.method,
                f"{call.path}{query}",
                body=call.body,
                headers=headers,
                timeout=self._timeout,
                preload_content=False,
                decode_content=False,  # nothing compressed was asked for
                retries=_ONCE,
                redirect=False,
            )
        except HTTPError as problem:
            raise lost(call, problem, deadline) from problem
        except connections.NotAllowed as problem:
            text = "this program may not write any more"
            raise Withheld(call.attempted, call.resource, **call.about(message=text)) from problem
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
        if not configuration.verify_ssl:
            urllib3.disable_warnings(InsecureRequestWarning)  # the kubeconfig asks for it
        pool = RESTClientObject(configuration).pool_manager
        connections.prepare(pool)
        with self._lock:
            self._configuration = configuration
            self._identity_ends_at = self._clock()
            self._authorization = ""
            self._send = _sender(pool, configuration.host.rstrip("/"))
            self._pool = pool


def _sender(pools: urllib3.PoolManager, host: str) -> Callable[..., Any]:
    """Return a function that sends a request to a path of one server."""
    if pools.proxy is not None:
        return lambda method, path, **request: pools.urlopen(method, f"{host}{path}", **request)
    # Without a proxy, the server's connection pool is found once and not for every request.
    url = parse_url(host)
    server = pools.connection_from_host(url.host, url.port, url.scheme)
    prefix = url.path or ""
    return lambda method, path, **request: server.urlopen(
        method, f"{prefix}{path}", assert_same_host=False, **request
    )


def _authorization(configuration: Configuration) -> str:
    """Return the header, empty without a token. Token files often end with a newline; a header must not."""
    settings = configuration.auth_settings()
    return str(settings["BearerToken"]["value"]).strip() if settings else ""
