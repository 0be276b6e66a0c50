"""The connections to one API server: opened by urllib3, kept here between calls.

urllib3 knows proxies, certificates and timeouts of connecting. What it does for each request beyond that
(retries, redirections, decoding of bodies) is done elsewhere or not wanted, and took half of a call's time.
"""

from __future__ import annotations

import re
import select
from collections import deque
from contextlib import suppress
from functools import partial
from ssl import SSLSocket
from threading import Lock
from typing import Any, Final
from weakref import finalize

from urllib3.util import parse_url

from kube_api.deadline import Deadline
from kube_api.kubernetes_parts import Configuration, RESTClientObject
from kube_api.response import TimedResponse

_PORTS: Final = {"http": 80, "https": 443}
_zone: Final = re.compile(r"%.*(?=\])")  # of an IPv6 address: it means something on this machine only


class Connections:
    """The connections to one API server. Safe between threads.

    Those that wait are closed once nobody has this any more, as after new credentials.
    Shape: ``target`` precedes the path in each request, ``fields`` are headers that each request has.
    """

    def __init__(self, configuration: Configuration, connect_timeout_s: float) -> None:
        url = parse_url(configuration.host.rstrip("/"))
        manager = RESTClientObject(configuration).pool_manager
        self._pool = manager.connection_from_host(url.host, url.port, url.scheme)
        self._connect_timeout_s = connect_timeout_s
        self._lock = Lock()
        self._most = configuration.connection_pool_maxsize or 1
        self._idle = deque[Any]()
        finalize(self, _close_all, self._idle)
        host = _zone.sub("", url.host or "").rstrip(".")
        if url.port not in (None, _PORTS.get(url.scheme or "http")):
            host = f"{host}:{url.port}"
        self.target = url.path or ""
        self.fields = [f"Host: {host}"]
        self._needs_tunnel = self._pool.proxy is not None and url.scheme == "https"
        if self._pool.proxy is not None and not self._needs_tunnel:
            # A proxy is asked for the whole address; to a server with TLS it only opens a tunnel.
            self.target = f"http://{url.netloc}{self.target}"
            self.fields += [f"{name}: {value}" for name, value in self._pool.proxy_headers.items()]

    def take(self, deadline: Deadline) -> Any:
        """Return a connection that nobody else has. Raises: HTTPError, OSError, HTTPException, ValueError.

        Shape:  it is connected; a kept one that the server has closed meanwhile is replaced.
        """
        try:
            connection = self._idle.pop()  # no look before it: another thread may take the last one meanwhile
        except IndexError:
            return self._opened(deadline)
        if _has_news(connection.sock):
            connection.close()
            return self._opened(deadline)
        connection.sock.settimeout(self._connect_timeout_s)  # for sending
        return connection

    def give_back(self, connection: Any) -> None:
        """Keep a connection for the next call. Shape: its last answer was read to the end."""
        with self._lock:
            is_kept = len(self._idle) < self._most
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()

    def close(self) -> None:
        """Close the connections that are not in use; one that is in use is closed when it is given back."""
        with self._lock:
            self._most = 0
        _close_all(self._idle)

    def _opened(self, deadline: Deadline) -> Any:
        connection: Any = self._pool._new_conn()  # what urllib3's pools are extended by
        connection.timeout = self._connect_timeout_s
        try:
            if self._needs_tunnel:
                connection.response_class = partial(TimedResponse, deadline=deadline)  # of the proxy's answer
                self._pool._prepare_proxy(connection)  # it connects
            else:
                connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection


def _has_news(sock: Any) -> bool:
    """Whether there is something to read before a question: the end, or what nobody asked for."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    is_decrypted = isinstance(sock, SSLSocket) and sock.pending() > 0  # and so read already
    return is_decrypted or bool(poll.poll(0))


def _close_all(connections: deque[Any]) -> None:
    with suppress(IndexError):  # until there is none: other threads may take some meanwhile
        while True:
            connections.pop().close()
