"""The users of a claim are told when its devices are not well, and when they are well again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from health_writer import BEGAN, Agent
from told_cluster import Cluster

from agent.health.rules import health_rules
from agent.policy.resolved import GpuSettings, Resolved
from plugin.claim.record_store import RecordStore
from plugin.telling.reports import Reports


class Site:
    """Two prepared claims on two GPUs, and what is written of them."""

    def __init__(self, bench: Any, clock: Any) -> None:
        self.bench, self.clock, self.cluster = bench, clock, Cluster()
        self.health, self.agent = bench.driver.claim_health, Agent(bench)
        self.reports = Reports(
            RecordStore(bench.options.claims_dir),
            self.cluster,
            self.cluster,
            clock,
            lambda: 1_800_000_000.0,
            unhealthy=self.health.of,
        )
        bench.prepare("u1", "gpu-0")
        bench.prepare("u2", "gpu-1")

    def look(self) -> dict[str, Mapping[str, str]]:
        """Look once and return what was written of claims."""
        self.cluster.said.clear()
        self.health.look(self.reports.unhealthy)
        self.clock.now += 10.0
        self.reports.deliver()
        return {uid: said[0]["conditions"][0] for uid, said in self.cluster.said.items()}


@pytest.fixture
def site(bench: Any, clock: Any) -> Site:
    return Site(bench, clock)


def test_only_the_claim_on_the_device_is_told_with_the_cause_and_its_time(site: Site) -> None:
    site.agent.xid(79)
    (condition,) = site.look().values()
    assert condition["reason"] == "DeviceUnhealthy"
    assert condition["status"] == "False"
    assert condition["lastTransitionTime"] == BEGAN
    assert "XID 79" in condition["message"]
    assert [(uid, reason) for uid, reason, _ in site.cluster.warnings] == [("u1", "DeviceUnhealthy")]


def test_a_claim_is_ready_again_when_its_device_is_well(site: Site) -> None:
    site.agent.xid(79)
    site.look()
    site.agent.heal()
    assert {uid: one["status"] for uid, one in site.look().items()} == {"u1": "True"}


def test_it_is_told_once_for_each_change(site: Site) -> None:
    site.agent.xid(48)
    site.look()
    site.agent.xid(48)
    assert site.look() == {}
    site.agent.xid(79)
    assert site.look().keys() == {"u1"}
    assert len(site.cluster.warnings) == 2


def test_a_note_changes_no_status(site: Site) -> None:
    site.agent.xid(31)
    assert site.look() == {}


def test_a_claim_that_is_prepared_on_an_ill_device_says_so_from_the_start(site: Site) -> None:
    site.agent.xid(48, gpu=1)
    assert site.health.of("u2").keys() == {"gpu-1"}
    assert site.health.of("u1") == {}


def test_of_two_claims_on_one_gpu_the_one_in_the_mig_instance_of_the_error_is_told(
    bench: Any,
) -> None:
    names = ("gpu-0-mig-1g-5gb-0", "gpu-0-mig-1g-5gb-1")
    health, agent = bench.driver.claim_health, Agent(bench)
    for uid, name in zip(("u1", "u2"), names, strict=True):
        bench.prepare(uid, name)
    first, _ = RecordStore(bench.options.claims_dir).peek("u1")
    assert first is not None
    node = bench.driver.policy.node
    gpus = {entry.gpu.uuid: GpuSettings() for entry in node.snapshot.inventory.gpus}
    node.follow(Resolved(gpus=gpus, health=health_rules({"xids": {94: "evict"}})))
    agent.xid(94, gi_id=first.devices[0].gi_id)
    assert health.of("u1").keys() == {names[0]}
    assert health.of("u2") == {}
