"""Connections that keep a deadline, and let their caller work while the server thinks.

Both belong to a request: they are set on the thread that makes it, before it is made. The work is done once,
after the last byte of the request and before the first byte of the answer. Everything else is urllib3's.
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


@contextmanager
def requesting(deadline: Deadline, meanwhile: Callable[[], None] | None) -> Iterator[None]:
    """Keep ``deadline`` in the requests of a ``with`` block; call ``meanwhile`` while the first one waits.

    What ``meanwhile`` raises leaves the block. The connection is closed then, since its answer is still to
    come.
    """
    _thread.deadline, _thread.meanwhile = deadline, meanwhile
    try:
        yield
    finally:
        _thread.deadline = _thread.meanwhile = None


def prepare(pools: urllib3.PoolManager) -> None:
    """Make ``pools`` open connections of this module. Call it before any connection is opened."""
    pools.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}


def _work() -> None:
    meanwhile, _thread.meanwhile = _thread.meanwhile, None
    if meanwhile is not None:
        meanwhile()


class _Response(TimedResponse):
    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, _thread.deadline, *args, **options)


class _Connection(HTTPConnection):
    response_class = _Response

    def getresponse(self) -> Any:
        _work()
        return super().getresponse()


class _SecureConnection(HTTPSConnection):
    response_class = _Response

    def getresponse(self) -> Any:
        _work()
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
