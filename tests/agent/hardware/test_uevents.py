"""Devices that come, go and change are heard, whoever tells it, and however many there are at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import pyudev
import uevents_of_kernel
from uevents_of_kernel import Events, in_own_network

from agent.hardware.uevents import Uevents

pytestmark = pytest.mark.skipif(
    uevents_of_kernel.why_not() is not None, reason=str(uevents_of_kernel.why_not())
)

GPU = ("/devices/pci0000:00/0000:00:01.0/0000:07:00.0", "pci")
BEGUN = "listening has begun"
Act = Callable[[Events, str, int], bool]


@pytest.fixture
def hear(tmp_path: Path) -> Callable[..., list[str]]:
    """Listen in a network of its own. ``act`` is called with each text and its number, and may end it."""

    def heard(act: Act, *, has_udevd: bool = False) -> list[str]:
        udevd = tmp_path / "control"
        if has_udevd:
            udevd.touch()
        texts: list[str] = []

        def work(events: Events) -> None:
            stop = Event()

            def hear_one(what: str) -> None:
                texts.append(what)
                if act(events, what, len(texts)):
                    stop.set()

            Uevents(udevd).listen(hear_one, stop)

        in_own_network(work)
        return texts

    return heard


def test_gpus_nics_and_drivers_are_heard_and_what_pods_and_others_make_is_not(hear) -> None:
    def act(events: Events, what: str, number: int) -> bool:
        if what == BEGUN:
            events.by_kernel("add", *GPU)
            events.by_kernel("add", "/devices/virtual/net/veth12ab", "net")
            events.by_kernel("add", "/devices/pci0000:00/usb1", "usb")
            events.by_kernel("change", "/devices/pci0000:00/0000:07:00.0/drm/card1", "drm")
            events.by_kernel("add", "/module/xfs", "module")
            events.by_kernel("remove", "/devices/pci0000:3a/0000:3b:00.0/net/ens1f0", "net")
            events.by_kernel("add", "/module/nvidia", "module")
        return number == 5

    assert hear(act) == [
        BEGUN,
        "add pci 0000:07:00.0",
        "change drm card1",
        "remove net ens1f0",
        "add module nvidia",
    ]


def test_where_udevd_runs_a_device_is_heard_of_once_its_names_are_final(hear) -> None:
    def act(events: Events, what: str, number: int) -> bool:
        if what == BEGUN:
            events.by_kernel("add", *GPU)
            events.by_udevd("add", "/devices/pci0000:00/usb1", "usb")
            events.by_udevd("change", *GPU)
        return number == 2

    assert hear(act, has_udevd=True) == [BEGUN, "change pci 0000:07:00.0"]


def test_of_a_burst_every_event_is_heard(hear) -> None:
    vfs = [f"0000:3b:{number // 8:02x}.{number % 8}" for number in range(100)]

    def act(events: Events, what: str, number: int) -> bool:
        if what == BEGUN:
            for vf in vfs:
                events.by_kernel("add", f"/devices/pci0000:3a/{vf}", "pci")
        return number == 101

    assert hear(act) == [BEGUN, *(f"add pci {vf}" for vf in vfs)]


@pytest.fixture
def small_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel keep little for a listener, as for an agent that may not ask for more."""
    original = pyudev.Monitor.from_netlink

    def limited(context: Any, source: str) -> Any:
        monitor = original(context, source)
        with socket.socket(fileno=os.dup(monitor.fileno())) as channel:
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)  # the kernel's least
        return monitor

    monkeypatch.setattr(pyudev.Monitor, "from_netlink", limited)


@pytest.mark.usefixtures("small_queue")
@pytest.mark.parametrize("has_udevd", [False, True])
def test_more_than_the_kernel_keeps_is_an_event_and_what_comes_then_is_heard(hear, has_udevd: bool) -> None:
    """It was deaf for 300 s."""

    def act(events: Events, what: str, number: int) -> bool:
        send = events.by_udevd if has_udevd else events.by_kernel
        if what == BEGUN:
            for _ in range(50):  # nobody reads meanwhile: this call is the reader's
                send("add", *GPU)
        if what.startswith("events were lost"):
            send("remove", *GPU)
        return what.startswith("remove")

    heard = hear(act, has_udevd=has_udevd)

    assert [text for text in heard if not text.startswith("add")] == [
        BEGUN,
        next(text for text in heard if text.startswith("events were lost: ")),
        "remove pci 0000:07:00.0",
    ]


@pytest.mark.usefixtures("small_queue")
def test_each_time_events_are_lost_it_is_told(hear) -> None:
    def act(events: Events, what: str, number: int) -> bool:
        if not what.startswith("add"):
            for _ in range(50):
                events.by_kernel("add", *GPU)
        return number == 4

    begun, *others = hear(act)

    assert begun == BEGUN
    assert all(text.startswith("events were lost") for text in others)
