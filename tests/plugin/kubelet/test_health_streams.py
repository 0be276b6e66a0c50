"""The stream of device health: sent again before the kubelet considers it stale, ended on both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from health_writer import Agent

from plugin.kinds.health import HealthReader
from plugin.kubelet.health_streams import HealthStreams


class Caller:
    """What a stream needs of the one that called it."""

    def __init__(self) -> None:
        self.hung_up: Callable[[], None] = lambda: None

    def add_callback(self, callback: Callable[[], None]) -> bool:
        self.hung_up = callback
        return True


@pytest.fixture
def reader(bench: Any) -> HealthReader:
    found: HealthReader = bench.driver.health
    return found


@pytest.fixture
def streams(reader: HealthReader, clock: Any) -> HealthStreams:
    return HealthStreams(reader, clock, poll_s=0.0)


def test_what_did_not_change_is_said_again_before_the_kubelet_takes_it_for_too_old(
    streams: HealthStreams, clock: Any
) -> None:
    lists = streams.reports(Caller())  # type: ignore[arg-type]
    first = next(lists)

    clock.now += 20.0

    assert next(lists) == first


def test_a_stream_ends_when_its_caller_hangs_up_or_the_server_stops(streams: HealthStreams) -> None:
    caller = Caller()
    one, other = streams.reports(caller), streams.reports(Caller())  # type: ignore[arg-type]
    next(one), next(other)

    caller.hung_up()
    ended_by_caller = list(one)
    streams.close()

    assert ended_by_caller == []
    assert list(other) == []
    assert list(streams.reports(Caller())) == []  # type: ignore[arg-type]


def test_a_stream_reads_anew_as_soon_as_the_agent_has_heard_something(bench: Any, clock: Any) -> None:
    agent = Agent(bench)
    streams = HealthStreams(bench.driver.health, clock, poll_s=3600.0)
    lists = streams.reports(Caller())  # type: ignore[arg-type]
    first = next(lists)
    agent.xid(79)

    second = next(lists)

    changed = {new.device for old, new in zip(first, second, strict=True) if old != new}
    assert changed == {one.device for one in first if one.device.startswith("gpu-0")}
