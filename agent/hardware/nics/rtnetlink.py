"""The real rtnetlink, through pyroute2.

Takes steps and returns links; every refusal is an ``OSError``. The library is imported at the first call:
it takes 0.1 s and 20 MiB alone, 6 MiB beside gRPC. A call for another namespace is made in a thread of its
own, which enters the namespace and ends with the call; so no other thread of the program ever leaves its own.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeVar

from agent.hardware.nics import link_messages, vf_messages
from agent.hardware.nics.link_messages import LinkOwner
from agent.hardware.nics.links import (
    AddAddress,
    AddRoute,
    Link,
    Move,
    Rename,
    SetMac,
    SetMtu,
    SetUp,
    Step,
)
from agent.hardware.nics.types import VfSettings

_CLONE_NEWNET: Final = 0x40000000
_WITH_VFS: Final = 1  # RTEXT_FILTER_VF
_HERE: Final = Path("/proc/thread-self/ns/net")

_Answer = TypeVar("_Answer")
_Call = Callable[[Any], _Answer]


@dataclass(frozen=True, slots=True)
class Rtnetlink:
    """The ``NetworkKernel`` of this machine.

    Shape: ``owner`` tells which PCI function a link belongs to; ``host`` is the file of the host's
           namespace, None for the caller's own.
    """

    owner: LinkOwner = link_messages.parent_function
    host: Path | None = None

    def links(self, namespace: Path | None) -> tuple[Link, ...]:
        """Return all links of a namespace, by index."""
        return _within(namespace or self.host, lambda netlink: link_messages.links(netlink, self.owner))

    def apply(self, namespace: Path | None, step: Step) -> None:
        """Change one link of a namespace."""
        if isinstance(step, Move):
            with _opened(step.into or self.host or _HERE) as descriptor:
                _within(namespace or self.host, lambda netlink: _move(netlink, step, descriptor))
        else:
            _within(namespace or self.host, lambda netlink: _change(netlink, step))

    def on_host(self, call: _Call[None]) -> None:
        """Call with a netlink socket of the host's namespace. Raises: OSError."""
        _within(self.host, call)

    def vf_settings(self, pf: str) -> Mapping[int, VfSettings]:
        """Return the settings of all VFs of a PF, by index."""

        def read(netlink: Any) -> Mapping[int, VfSettings]:
            (message,) = netlink.link("get", index=_index(netlink, pf), ext_mask=_WITH_VFS)
            return vf_messages.settings(message)

        return _within(self.host, read)

    def set_vf(self, pf: str, index: int, settings: VfSettings) -> None:
        """Change the given settings of one VF, in one request."""
        request = vf_messages.request(index, settings)
        _within(self.host, lambda netlink: netlink.link("set", index=_index(netlink, pf), vf=request))


def _move(netlink: Any, step: Move, descriptor: int) -> None:
    index = _index(netlink, step.link)
    netlink.link("set", index=index, net_ns_fd=descriptor, ifname=step.name)


def _change(netlink: Any, step: Step) -> None:
    index = _index(netlink, step.link)
    match step:
        case Rename():
            netlink.link("set", index=index, ifname=step.name)
        case SetMtu():
            netlink.link("set", index=index, mtu=step.mtu)
        case SetMac():
            netlink.link("set", index=index, address=step.mac)
        case SetUp():
            netlink.link("set", index=index, state="up" if step.up else "down")
        case AddAddress():
            address, _, length = step.address.partition("/")
            netlink.addr("add", index=index, address=address, prefixlen=int(length))
        case AddRoute():
            gateway = {"gateway": step.route.via} if step.route.via else {}
            netlink.route("add", dst=step.route.to, oif=index, **gateway)
        case Move():
            raise AssertionError("a move needs the other namespace too")


def _index(netlink: Any, name: str) -> int:
    (message,) = netlink.link("get", ifname=name)
    return int(message["index"])


def _within(namespace: Path | None, call: _Call[_Answer]) -> _Answer:
    """Call with a socket of a namespace; ``None`` is the caller's own."""
    if namespace is None:
        return _with_socket(call)
    answers: list[_Answer] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with _opened(namespace) as descriptor:
                _enter(descriptor)
            answers.append(_with_socket(call))
        except BaseException as error:  # noqa: BLE001 (it is raised again in the calling thread)
            failures.append(error)

    thread = Thread(target=run, name="rtnetlink")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return answers[0]


def _with_socket(call: _Call[_Answer]) -> _Answer:
    from pyroute2 import IPRoute, NetlinkError  # noqa: PLC0415 (it is heavy; most programs never need it)

    try:
        with IPRoute() as netlink:
            return call(netlink)
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code)) from error


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextmanager
def _opened(namespace: Path) -> Iterator[int]:
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
