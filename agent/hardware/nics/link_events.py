"""Events about the links of NICs, through rtnetlink: the kernel tells no other way that a cable was pulled.

Returns a short text about each change. Of a message only the link's number and flags are read, with the
standard library: for that, pyroute2 would cost a program 6 MiB. Where events were lost, that is an event too.
"""

from __future__ import annotations

import errno
import logging
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from agent.hardware.interfaces import Interfaces
from daemon.backoff import Backoff
from daemon.logs import OneWarning

_LINK_GROUP: Final = 1  # RTMGRP_LINK of rtnetlink.h
_NEW_LINK, _DELETED_LINK = 16, 17
_HEADER: Final = struct.Struct("=IHHII")
"""``struct nlmsghdr``: length, type, flags, number, sender."""
_LINK: Final = struct.Struct("=BxHiII")
"""``struct ifinfomsg``: family, type of the link, its number, its flags, which of them changed."""
_ALIGNED: Final = 4
_UP, _HAS_CARRIER = 0x1, 0x10000  # IFF_UP, IFF_LOWER_UP of if.h
_MOST_BYTES: Final = 2**16
_POLL_S: Final = 1.0  # how long after the end it may still listen
_RETRIES: Final = Backoff(first=0.1, most=60.0)
_DEAF: Final = "events of links cannot be heard: %s; it is retried, and changes are seen later"
_log = logging.getLogger(__name__)

Open = Callable[[], socket.socket]


def open_socket() -> socket.socket:
    """Return a socket that hears of all links of this network namespace. Raises: OSError."""
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    try:
        opened.bind((0, _LINK_GROUP))
    except OSError:
        opened.close()
        raise
    return opened


class LinkEvents:
    """Listens for links of NICs that go up or down.

    Shape: ``root`` where the host's files are seen: a link without a PCI function there is none of a NIC.
    """

    def __init__(self, root: Path = Path("/"), opened: Open = open_socket) -> None:
        self._sys = root / "sys"
        self._open = opened
        self._flags: dict[int, int] = {}
        self._deafness = OneWarning(_log, _DEAF)

    def listen(self, hear: Callable[[str], None], stop: threading.Event) -> None:
        """Call ``hear`` once it listens, then for every change until ``stop`` is set.

        A burst may be more than the kernel keeps for us (ENOBUFS): then it listens anew, and tells it.
        While it cannot listen the log says so, once.
        """
        what, retries = "listening for links has begun", _RETRIES
        while not stop.is_set():
            try:
                with self._listening() as opened:
                    opened.settimeout(_POLL_S)
                    hear(what)
                    while not stop.is_set():
                        for news in self._received(opened):
                            hear(news)
                        retries = _RETRIES
            except OSError as error:
                self._flags.clear()
                what = f"events of links were lost: {error}"
                if error.errno != errno.ENOBUFS:
                    stop.wait(retries.wait())
                    retries = retries.failed()

    def _listening(self) -> socket.socket:
        """Return a socket that hears already. Raises: OSError, which the log says once until it works."""
        try:
            opened = self._open()
        except OSError as error:
            self._deafness.failed(error)
            raise
        self._deafness.over()
        return opened

    def _received(self, opened: socket.socket) -> Iterator[str]:
        try:
            data = opened.recv(_MOST_BYTES)
        except TimeoutError:
            return
        for kind, index, flags in links_in(data):
            if kind == _DELETED_LINK:
                self._flags.pop(index, None)  # that a device went is an event of the device
            elif self._flags.get(index) != flags and (name := self._name(index)) is not None:
                self._flags[index] = flags
                yield f"link {name} is {'up' if flags == _UP | _HAS_CARRIER else 'down'}"

    def _name(self, index: int) -> str | None:
        """Return the name of a NIC's link, None for one of a pod, or one that is gone already."""
        try:
            name = socket.if_indextoname(index)
        except OSError:
            return None
        return name if Interfaces.function_of(self._sys, name) is not None else None


def links_in(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, number of the link, and whether it is up and has a carrier, of each message about links."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size:
            return
        if kind in (_NEW_LINK, _DELETED_LINK) and at + _HEADER.size + _LINK.size <= len(data):
            _, _, index, flags, _ = _LINK.unpack_from(data, at + _HEADER.size)
            yield kind, index, flags & (_UP | _HAS_CARRIER)
        at += -(-length // _ALIGNED) * _ALIGNED
