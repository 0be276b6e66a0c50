"""Modes of one GPU in a cluster: side by side as the scheduler allocates, and in turns without groups."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from agent_support import Site, registered
from cluster_support import eventually, running
from launcher.client import ClusterControl
from offering import ask, end, offering
from plugin_support import PluginSite
from story import refusal

from kube_api import RESOURCE_CLAIMS, KubeApi

MODES = "--gpu-modes=0=whole,mig,shared:50%,mps:50%"
RESTARTED_S = 90.0
WHOLE, SHARED, MPS = (
    'own.type == "gpu" && own.minor == 0',
    'own.type == "gpu-shared"',
    'own.type == "gpu-mps"',
)
PARTITION = 'own.type == "mig" && own.profile == "1g.5gb" && own.parentMinor == 0'


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node: an agent and a plugin that offer a GPU in every mode."""
    driver = f"m{uuid.uuid4().hex[:6]}.tangram.dev"
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder))
        with offering(found, {"gpu-0", "gpu-0-shared", "gpu-0-mps", "gpu-1"}, MODES):
            yield found


def allocated(site: PluginSite, name: str, namespace: str) -> str:
    """Wait until the scheduler has allocated a claim and return the device."""

    def device() -> str:
        status = site.api.get(RESOURCE_CLAIMS, name, namespace).document.get("status", {})
        results = status.get("allocation", {}).get("devices", {}).get("results", [])
        return str(results[0]["device"]) if results else ""

    return eventually(device, f"claim {name} is allocated", 60.0)


def test_shared_and_mps_go_side_by_side_and_partitions_and_the_whole_gpu_wait_until_both_are_gone(
    site: PluginSite, namespace: str
) -> None:
    ask(site, "fraction", namespace, SHARED, {"memory": "10Gi"})
    running(site.api, "fraction", namespace)
    ask(site, "service", namespace, MPS, {"memory": "10Gi"})
    beside = allocated(site, "service", namespace)
    ask(site, "second", namespace, SHARED, {"memory": "10Gi"})
    running(site.api, "second", namespace)
    ask(site, "third", namespace, SHARED, {"memory": "1Gi"})
    ask(site, "part", namespace, PARTITION)
    ask(site, "whole", namespace, WHOLE)
    refused = [refusal(site.api, name, namespace) for name in ("third", "part", "whole")]
    for name in ("third", "whole", "fraction", "second"):
        end(site, name, namespace)
    still = refusal(site.api, "part", namespace)
    end(site, "service", namespace)
    running(site.api, "part", namespace)
    ask(site, "late", namespace, SHARED, {"memory": "1Gi"})
    ask(site, "later", namespace, MPS, {"memory": "1Gi"})
    late = [refusal(site.api, name, namespace) for name in ("late", "later")]
    for name in ("part", "late", "later"):
        end(site, name, namespace)

    assert beside == "gpu-0-mps"
    assert all("cannot allocate all claims" in why for why in (*refused, still, *late))
    assert site.nothing_is_left()


@pytest.fixture
def object_site(api: KubeApi, kubeconfig: Path, tmp_path: Path) -> Iterator[Site]:
    """A node that is an object only, and agents that publish a machine for it."""
    with registered(api, kubeconfig, tmp_path) as made:
        yield made


def test_where_groups_are_dropped_all_devices_are_published_and_each_mode_takes_the_whole_gpu(
    object_site: Site, control: ClusterControl
) -> None:
    def drawn() -> dict[str, object]:
        found = {one.name: one.draws for one in object_site.published(54, RESTARTED_S).devices}
        return {mode: found[f"gpu-0{mode}"] for mode in ("", "-shared", "-mps", "-mig-1g-5gb-0")}

    with object_site.agent("--no-composite", MODES) as agent:
        side_by_side = drawn()
        control.set_feature_gates({"DRADeviceCompatibilityGroups": False})
        eventually(lambda: object_site.events() == ["ModesTakeTurns"], "the event on the node", RESTARTED_S)
        turns = eventually(
            lambda: now if (now := drawn()) != side_by_side else {}, "modes in turns", RESTARTED_S
        )
        assert agent.said().count("all devices are published, and modes of one GPU take turns") == 1
        control.set_feature_gates({"DRADeviceCompatibilityGroups": True})
        eventually(lambda: drawn() == side_by_side, "modes side by side again", RESTARTED_S)

    assert turns["-shared"] == turns["-mps"] == turns[""] == side_by_side[""]
    assert turns["-shared"] != side_by_side["-shared"]
