"""An agent that cannot listen for events logs one warning, and one more if that fails again later."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any, Protocol

import pytest
import pyudev

from agent.hardware.nics.link_events import LinkEvents
from agent.hardware.uevents import Uevents

FULL = OSError(errno.EMFILE, "Too many open files")
LOST = OSError(errno.ENOBUFS, "No buffer space available")


class Source(Protocol):
    def listen(self, hear: Callable[[str], None], stop: Event) -> None: ...


class Retries(Event):
    """Ends after so many waits, none of which takes time."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def wait(self, timeout: float | None = None) -> bool:
        self._left -= 1
        if not self._left:
            self.set()
        return self.is_set()


class Channel:
    """What listens, as far as these sources use it: it loses events at once."""

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None: ...

    def settimeout(self, longest_s: float) -> None: ...

    def filter_by(self, subsystem: str) -> None: ...

    def start(self) -> None: ...

    def recv(self, most: int) -> bytes:
        raise LOST

    def poll(self, timeout: float) -> Any:
        raise LOST


@pytest.fixture(params=["devices", "links"])
def source(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Iterator[Channel | OSError]], Source]:
    """Return what listens, and gets one answer after the other when it begins to."""

    def made(answers: Iterator[Channel | OSError]) -> Source:
        def opened(*_: object, **__: object) -> Any:
            answer = next(answers)
            if isinstance(answer, OSError):
                raise answer
            return answer

        if request.param == "links":
            return LinkEvents(tmp_path, opened)
        monkeypatch.setattr(pyudev.Monitor, "from_netlink", opened)
        return Uevents(tmp_path / "control")

    return made


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


def test_one_that_can_never_listen_says_so_once(source, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    source(iter(lambda: FULL, None)).listen(heard.append, Retries(20))

    (said,) = warnings(caplog)
    assert "cannot be heard: [Errno 24] Too many open files; it is retried" in said
    assert heard == []


def test_one_that_could_listen_in_between_says_it_again(source, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []
    stop = Retries(20)

    def answers() -> Iterator[Channel | OSError]:
        yield from (FULL, FULL, Channel(), FULL, FULL)
        stop.set()
        yield FULL

    source(answers()).listen(heard.append, stop)

    assert len(warnings(caplog)) == 2
    assert len(heard) == 1
