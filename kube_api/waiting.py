"""Connections that let their caller work while a server thinks.

A deed enters before a request is made, on the same thread; it is done once, between the last byte of the
request and the first of the answer. Everything else is urllib3's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_thread: Final = threading.local()


@contextmanager
def meanwhile(deed: Callable[[], None] | None) -> Iterator[None]:
    """Do ``deed`` while the first request of a ``with`` block waits for its answer.

    What it raises leaves the block; the connection is closed then, since an answer is still to come.
    """
    _thread.deed = deed
    try:
        yield
    finally:
        _thread.deed = None


def let_work(pools: urllib3.PoolManager) -> None:
    """Make the connections of ``pools`` such ones. To be called before any is opened."""
    pools.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}


def _work() -> None:
    deed, _thread.deed = getattr(_thread, "deed", None), None
    if deed is not None:
        deed()


class _Connection(HTTPConnection):
    def getresponse(self) -> Any:
        _work()
        return super().getresponse()


class _SecureConnection(HTTPSConnection):
    def getresponse(self) -> Any:
        _work()
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
