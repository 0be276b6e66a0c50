"""A link of a NIC that goes up or down is heard of at once, whatever pods do with theirs."""

from __future__ import annotations

import errno
import shutil
import socket
import struct
import subprocess
from pathlib import Path
from threading import Event

import needs
import pytest
import uevents_of_kernel
from hypothesis import given
from hypothesis import strategies as st
from uevents_of_kernel import in_own_network

from agent.hardware.nics.link_events import LinkEvents, links_in, open_socket

BEGUN = "listening for links has begun"
real = pytest.mark.skipif(uevents_of_kernel.why_not() is not None, reason=str(uevents_of_kernel.why_not()))


def message(index: int, flags: int, kind: int = 16, rest: bytes = b"") -> bytes:
    """As the kernel writes it: rtnetlink.h."""
    body = struct.pack("=BxHiII", 0, 1, index, flags, 0) + rest
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body + b"\0" * (-len(body) % 4)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """The files of a host where ``nic0`` belongs to a PCI function, and nothing else does."""
    net = tmp_path / "sys/class/net"
    net.mkdir(parents=True)
    (net / "nic0").symlink_to("../../devices/pci0000:3a/0000:3b:00.0/net/nic0")
    (net / "veth7").symlink_to("../../devices/virtual/net/veth7")
    return tmp_path


def ip(*words: str) -> str:
    return subprocess.run(
        ["ip", "link", *words], check=True, timeout=30, stdout=subprocess.PIPE, text=True
    ).stdout


@real
def test_a_cable_that_is_pulled_and_put_back_is_heard_and_a_pods_link_is_not(host: Path) -> None:
    if shutil.which("ip") is None:
        needs.fail_or_skip(needs.NAMESPACES)
    heard: list[str] = []
    stop = Event()

    def act(what: str) -> None:
        heard.append(what)
        if what == BEGUN:
            ip("set", "veth7", "up")
            ip("set", "nic0peer", "down")
        elif len(heard) == 2:
            ip("set", "nic0peer", "up")
        else:
            stop.set()

    def work(_: object) -> None:
        ip("add", "nic0", "type", "veth", "peer", "name", "nic0peer")
        ip("add", "veth7", "type", "veth", "peer", "name", "veth8")
        ip("set", "nic0", "up")
        ip("set", "nic0peer", "up")
        # The kernel reports a carrier up to a second late: that must not come after the listening has begun.
        while "state UP" not in ip("show", "nic0"):
            pass
        LinkEvents(host).listen(act, stop)

    in_own_network(work)

    assert heard == [BEGUN, "link nic0 is down", "link nic0 is up"]


class Flooded:
    """A socket of which the kernel dropped messages, or that breaks."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> Flooded:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def settimeout(self, seconds: float) -> None:
        pass

    def recv(self, most: int) -> bytes:
        raise OSError(self._number, "it happened")


def test_events_that_were_lost_count_as_one_and_it_listens_on() -> None:
    heard: list[str] = []
    stop = Event()

    def hear(what: str) -> None:
        heard.append(what)
        if len(heard) == 3:
            stop.set()

    LinkEvents(opened=lambda: Flooded(errno.ENOBUFS)).listen(hear, stop)

    assert heard[0] == BEGUN
    assert all("events of links were lost" in what for what in heard[1:])


def test_a_kernel_that_lets_nobody_listen_is_asked_again_until_the_end() -> None:
    stop, asked = Event(), []

    def refuse() -> socket.socket:
        asked.append(True)
        stop.set()
        raise OSError(errno.EPERM, "no")

    LinkEvents(opened=refuse).listen(lambda _: None, stop)

    assert asked == [True]


def test_messages_that_come_together_are_told_apart() -> None:
    data = message(2, 0x11043, rest=b"\1\2\3") + message(3, 0x1002) + message(4, 0, kind=17)

    assert list(links_in(data)) == [(16, 2, 0x10001), (16, 3, 0), (17, 4, 0)]


@given(st.binary(max_size=200))
def test_whatever_comes_is_read_to_its_end_and_nothing_is_raised(data: bytes) -> None:
    assert len(list(links_in(data))) <= len(data)


@real
def test_the_kernels_own_socket_can_be_had() -> None:
    in_own_network(lambda _: open_socket().close())
