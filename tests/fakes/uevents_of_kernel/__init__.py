"""Events of devices in a network namespace of one thread, sent by the kernel, or as udevd sends them.

No preloaded library stands between sender and listener: the kernel's own queues, filters and errors are what
is tested. umockdev's sockets are unix sockets, which know neither the kernel's filter nor ENOBUFS.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final

import needs

CLONE_NEWNET: Final = 0x40000000
KOBJECT_UEVENT: Final = 15
UDEVD: Final = 2
"""The multicast group on which udevd sends."""
_REQUEST: Final = 1
_ANY_TYPE: Final = 16  # types below are netlink's own
_HEADER: Final = struct.Struct("=IHHII")
_UDEVD_HEADER: Final = struct.Struct("=8sI I I I I I I I")


def why_not() -> str | None:
    """Return why no thread here can have a network namespace of its own, None where it can."""
    return None if needs.may_unshare("--net") else f"needs {needs.PRIVILEGES}"


def in_own_network(work: Callable[[Events], None]) -> None:
    """Do work in a thread whose network namespace is its own, and that of the threads that it starts."""

    ended: Future[None] = Future()

    def in_thread() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "unshare")
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, KOBJECT_UEVENT) as channel:
                work(Events(channel))
        except BaseException as error:  # noqa: BLE001 - it is the test's
            ended.set_exception(error)
        else:
            ended.set_result(None)

    Thread(target=in_thread, daemon=True).start()  # a listener that hears nothing must not keep the suite
    ended.result(60)


class Events:
    """Sends events into the namespace of the thread that made it."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        channel.bind((0, 0))

    def by_kernel(self, action: str, path: str, subsystem: str) -> None:
        """Let the kernel send an event to whoever listens for its own.

        Source: lib/kobject_uevent.c, uevent_net_rcv: what a privileged program sends to the kernel, it sends
                to everybody in the namespace.
        """
        body = f"{action}@{path}".encode() + b"\0" + _properties(action, path, subsystem)
        self._channel.sendto(_HEADER.pack(_HEADER.size + len(body), _ANY_TYPE, _REQUEST, 1, 0) + body, (0, 0))

    def by_udevd(self, action: str, path: str, subsystem: str) -> None:
        """Send an event as udevd does, once its rules are done. Source: systemd, device-monitor.c."""
        body = _properties(action, path, subsystem)
        size = _UDEVD_HEADER.size
        head = (b"libudev", socket.htonl(0xFEEDCAFE), size, size, len(body))
        hashes = (socket.htonl(_murmur2(subsystem.encode())), 0, 0, 0)
        self._channel.sendto(_UDEVD_HEADER.pack(*head, *hashes) + body, (0, UDEVD))


def _properties(action: str, path: str, subsystem: str) -> bytes:
    found = {"ACTION": action, "DEVPATH": path, "SUBSYSTEM": subsystem, "SEQNUM": "1"}
    return b"".join(f"{key}={value}\0".encode() for key, value in found.items())


def _murmur2(data: bytes) -> int:
    """Return MurmurHash2 of seed 0, by which libudev lets the kernel filter."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    found = len(data)
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        mixed = word * factor & mask
        mixed = (mixed ^ mixed >> 24) * factor & mask
        found = (found * factor & mask) ^ mixed
    rest = data[whole:]
    if rest:
        found = (found ^ int.from_bytes(rest, "little")) * factor & mask
    found = (found ^ found >> 13) * factor & mask
    return found ^ found >> 15
