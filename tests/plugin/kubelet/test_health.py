"""What is said of devices: all that were ever there, and again before it is too old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plugin.kubelet.health_streams import HealthStreams
from plugin.machine.health import Health, HealthReader


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


def test_every_device_of_a_healthy_node_is_healthy_and_named_in_its_pool(
    bench: Any, reader: HealthReader
) -> None:
    report = reader.read()

    assert [entry.device for entry in report] == bench.names()
    assert {entry.pool for entry in report} == {"a100x2"}
    assert {(entry.health, entry.message) for entry in report} == {(Health.HEALTHY, "")}


def test_a_lost_gpu_says_why_and_its_neighbour_is_well(bench: Any, reader: HealthReader) -> None:
    reader.read()
    bench.inject("gpu-1:lost")

    ill = {entry.device: entry.message for entry in reader.read() if entry.health is Health.UNHEALTHY}

    assert ill
    assert all(name.startswith("gpu-1") and "fell off the bus" in message for name, message in ill.items())


def test_a_device_that_is_lost_stays_on_the_list_when_the_node_is_read_again(
    bench: Any, reader: HealthReader
) -> None:
    before = [entry.device for entry in reader.read()]
    bench.inject("gpu-1:lost")
    with pytest.raises(Exception, match="gpu-1"):
        bench.prepare("u1", "gpu-1-mig-9g-99gb-0")

    assert [entry.device for entry in reader.read()] == before


def test_without_an_answer_of_the_driver_nothing_is_known(bench: Any, reader: HealthReader) -> None:
    reader.read()
    bench.inject("machine:gpus:driver-missing")

    report = reader.read()

    assert {entry.health for entry in report} == {Health.UNKNOWN}
    assert all("driver" in entry.message for entry in report)


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
