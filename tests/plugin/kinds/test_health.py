"""Which devices work: every device that was ever described, checked on the machine."""

from __future__ import annotations

from typing import Any

import pytest

from plugin.kinds.health import Health, HealthReader


@pytest.fixture
def reader(bench: Any) -> HealthReader:
    found: HealthReader = bench.driver.health
    return found


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
