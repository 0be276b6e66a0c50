"""Connections that keep a deadline, let their caller work while the server thinks, and ask before they send.

All three belong to a request: they are set on the thread that makes it, before it is made. The work is done
once, after the last byte of the request and before the first byte of the answer. The guard is asked before
each piece of the request, once there is a connection. Everything else is urllib3's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from kube_api.deadline import Deadline, TimedResponse

_thread: Final = threading.local()


class NotAllowed(Exception):
    """The guard of a request did not let it be sent to its end, so the server does nothing about it."""


@contextmanager
def requesting(
    deadline: Deadline,
    meanwhile: Callable[[], None] | None,
    may_send: Callable[[], bool] | None = None,
) -> Iterator[None]:
    """Keep ``deadline`` in the requests of a ``with`` block; call ``meanwhile`` while the first one waits.

    What ``meanwhile`` raises leaves the block. The connection is closed then, since its answer is still to
    come.
    Raises: NotAllowed where ``may_send`` says no.
    """
    _thread.deadline, _thread.meanwhile, _thread.may_send = deadline, meanwhile, may_send
    try:
        yield
    finally:
        _thread.deadline = _thread.meanwhile = _thread.may_send = None


def prepare(pools: urllib3.PoolManager) -> None:
    """Make ``pools`` open connections of this module. Call it before any connection is opened."""
    pools.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}


def _work() -> None:
    meanwhile, _thread.meanwhile = _thread.meanwhile, None
    if meanwhile is not None:
        meanwhile()


def _ask_guard() -> None:
    if _thread.may_send is not None and not _thread.may_send():
        raise NotAllowed


class _Response(TimedResponse):
    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, _thread.deadline, *args, **options)


class _Connection(HTTPConnection):
    response_class = _Response

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()  # it may take seconds, so the guard is asked after it
        _ask_guard()
        super().send(data)

    def getresponse(self) -> Any:
        _work()
        return super().getresponse()


class _SecureConnection(HTTPSConnection):
    response_class = _Response

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()  # it may take seconds, so the guard is asked after it
        _ask_guard()
        super().send(data)

    def getresponse(self) -> Any:
        _work()
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
