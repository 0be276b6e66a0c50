"""The rollback story, as far as the agent goes: a server that stops counting, and counts again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_support import Site, registered
from cluster_support import eventually
from launcher.client import ClusterControl

from kube_api import KubeApi

pytestmark = pytest.mark.layout
RESTARTED_S = 90.0


@pytest.fixture
def site(api: KubeApi, kubeconfig: Path, tmp_path: Path) -> Iterator[Site]:
    with registered(api, kubeconfig, tmp_path) as made:
        yield made


def test_where_the_gate_goes_off_only_what_exists_is_published_and_everything_again_when_it_is_back(
    site: Site, control: ClusterControl
) -> None:
    with site.agent("--no-composite") as agent:
        full = site.published()
        site.cut("3g.20gb")
        site.cut("1g.5gb", place=4)

        control.set_feature_gates({"DRAPartitionableDevices": False})
        fixed = site.published(3, timeout_s=RESTARTED_S)

        assert [str(device.name) for device in fixed.devices] == [
            "gpu-0-mig-1g-5gb-4",
            "gpu-0-mig-3g-20gb-0-3",
            "gpu-1",
        ]
        assert not any(device.draws for device in fixed.devices)
        assert agent.said().count("only devices that cannot overlap are published") == 1
        assert agent.metrics()['dropped_field{field="consumesCounters"}'] == 1
        assert agent.metrics()['form{form="fixed"}'] == 1
        eventually(lambda: site.events() == ["PartitionsNotPublished"], "the event on the node")

        control.set_feature_gates({"DRAPartitionableDevices": True})
        again = site.published(52, timeout_s=RESTARTED_S)

        assert again.devices == full.devices
        assert again.sources == full.sources
        eventually(
            lambda: site.events() == ["PartitionsNotPublished", "PartitionsPublished"], "the second event"
        )
        assert not any(name.startswith("dropped_field") for name in agent.metrics())


def test_an_agent_that_starts_where_nobody_counts_never_publishes_a_partition_that_overlaps(
    site: Site, control: ClusterControl
) -> None:
    control.set_feature_gates({"DRAPartitionableDevices": False})

    with site.agent("--no-composite"):
        site.published(2, timeout_s=RESTARTED_S)

    stored = [one for one in site.slices() if one["spec"].get("devices")]
    assert {device["name"] for one in stored for device in one["spec"]["devices"]} == {"gpu-0", "gpu-1"}
    assert all(one["spec"]["pool"]["generation"] == 1 for one in stored)
