"""The plugin's status lists the known causes of ill health, without a call to the hardware."""

from __future__ import annotations

from typing import Any

import pytest
from health_writer import Agent

from daemon.status.last_errors import LastErrors
from plugin.base.in_flight import CallsInFlight
from plugin.telling.state import PluginState

NOW_S = 4_000_000_000.0


@pytest.fixture
def state(bench: Any) -> PluginState:
    return PluginState(
        driver=bench.driver,
        store=bench.driver.figures._steps.store,
        calls=CallsInFlight(lambda: 0.0),
        errors=LastErrors(),
        clock=lambda: 0.0,
        wall=lambda: NOW_S,
        began_at=0.0,
    )


def test_a_cause_is_told_with_its_devices_its_count_and_what_ends_it(bench: Any, state: PluginState) -> None:
    agent = Agent(bench)
    agent.xid(79)
    agent.xid(79)
    bench.driver.health.read()

    (row,) = state.status().json()["causes"]

    assert (row["cause"], row["severity"], row["times"]) == ("gpu-lost", "evict", 2)
    assert row["ends"] == "a reset of the GPU, or a reboot"
    assert row["devices"][0] == "gpu-0"
    assert {name.split("-mig")[0] for name in row["devices"]} == {"gpu-0"}
    assert "gpu-lost, XID 79" in state.status().text()


def test_a_cause_that_is_over_is_told_no_more(bench: Any, state: PluginState) -> None:
    agent = Agent(bench)
    agent.xid(79)
    bench.driver.health.findings()
    agent.heal()
    bench.driver.health.findings()

    assert state.status().json()["causes"] == []


def test_the_status_reads_no_hardware(bench: Any, state: PluginState, monkeypatch: Any) -> None:
    Agent(bench).xid(31, gi_id=1)
    bench.driver.health.findings()

    def refuse(*_: object) -> None:
        raise AssertionError("the status asked the hardware")

    monkeypatch.setattr("plugin.machine.known_health.KnownHealth.findings", refuse)

    assert state.status().json()["health"] == []
