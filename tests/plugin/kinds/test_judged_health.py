"""The plugin tells of devices what the agent knows of them: by the same rules, from the same file."""

from __future__ import annotations

from typing import Any

import pytest
from health_writer import Agent

from agent.health.causes import Severity
from agent.health.rules import HealthRules
from agent.policy.resolved import Resolved
from plugin.kinds.health import Health, HealthReader


@pytest.fixture
def agent(bench: Any) -> Agent:
    return Agent(bench)


@pytest.fixture
def reader(bench: Any) -> HealthReader:
    found: HealthReader = bench.driver.health
    return found


def _said(reader: HealthReader) -> dict[str, tuple[Health, str]]:
    return {one.device: (one.health, one.message) for one in reader.read() if one.message}


def test_a_fatal_xid_makes_every_device_of_its_gpu_ill_and_no_other(
    reader: HealthReader, agent: Agent
) -> None:
    agent.xid(79)
    said = _said(reader)
    assert said.keys() == {one.device for one in reader.read() if one.device.startswith("gpu-0")}
    assert {health for health, _ in said.values()} == {Health.UNHEALTHY}
    assert all("XID 79" in message and "fallen off the bus" in message for _, message in said.values())


def test_a_note_stands_in_the_message_of_a_healthy_device(reader: HealthReader, agent: Agent) -> None:
    agent.xid(31)
    health, message = _said(reader)["gpu-0"]
    assert health is Health.HEALTHY
    assert "XID 31" in message


def test_every_cause_is_in_the_message_and_the_worst_comes_first(reader: HealthReader, agent: Agent) -> None:
    for xid in (31, 48, 79):
        agent.xid(xid)
    _, message = _said(reader)["gpu-0"]
    assert message.index("XID 79") < message.index("XID 48") < message.index("XID 31")


def test_what_is_over_is_told_no_more(reader: HealthReader, agent: Agent) -> None:
    agent.xid(79)
    before = reader.news()
    agent.heal()
    assert reader.news() != before
    assert _said(reader) == {}


def test_a_damaged_file_leaves_what_was_known(reader: HealthReader, agent: Agent) -> None:
    agent.xid(79)
    before = _said(reader)
    agent.file.path.write_bytes(b"{")
    assert _said(reader) == before


def test_the_rules_of_the_policy_count_as_soon_as_they_are_in_effect(
    bench: Any, reader: HealthReader, agent: Agent
) -> None:
    agent.xid(31)
    before = reader.news()
    assert _said(reader)["gpu-0"][0] is Health.HEALTHY

    bench.driver.policy.node.follow(Resolved(health=HealthRules(xids={31: Severity.NO_NEW_PODS})))

    assert reader.news() != before
    assert _said(reader)["gpu-0"][0] is Health.UNHEALTHY
