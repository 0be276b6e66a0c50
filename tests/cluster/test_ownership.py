"""The Node's label says who allocates its devices, the agent marks them, and kube-scheduler keeps off."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_support import COMPOSITES
from cluster_support import eventually
from crd_support import installed_definition
from launcher.client import ClusterControl
from owned_node import MARK, OwnedNode, schedulable
from pages.blocks import blocks_of
from story import ROOT

from kube_api import PODS, KubeApi
from scheduler_core.model.ownership import CONTROLLER

pytestmark = pytest.mark.layout
FIRST_S = 30.0
RESTARTED_S = 90.0
DROPPED = {"DRADeviceTaints": False, "DRADeviceTaintRules": False}
TOLD = "has no effect: the API server drops taints of devices"


@pytest.fixture
def node(api: KubeApi, kubeconfig: Path, tmp_path: Path, namespace: str) -> Iterator[OwnedNode]:
    with schedulable(api, kubeconfig, tmp_path, namespace) as made:
        yield made


@pytest.fixture
def keeps_taints(api: KubeApi) -> None:
    if int(api.server_version().split(".")[1]) < 36:
        pytest.skip("needs the feature gate DRADeviceTaints, on from Kubernetes 1.36")


@pytest.mark.usefixtures("keeps_taints")
def test_kube_scheduler_allocates_no_device_of_an_owned_node_and_binds_pods_that_have_theirs(
    node: OwnedNode,
) -> None:
    node.label(CONTROLLER)
    with node.site.agent("--no-composite"):
        node.owned(timeout_s=FIRST_S)
        node.claim("given")
        node.allocate("given", "gpu-1")
        node.pod("given")
        node.ask("waiting")

        assert node.bound("given") == "gpu-1"
        assert "cannot allocate all claims" in node.turned_away("waiting")
        assert node.device_of("waiting") == ""


def test_of_a_node_with_composite_slices_alone_kube_scheduler_allocates_nothing_and_binds_what_has_devices(
    api: KubeApi, node: OwnedNode
) -> None:
    """It needs no taints of ResourceSlices, so it is the same on every server."""
    node.label(CONTROLLER)
    with installed_definition(api), node.site.agent("--composite-only"):
        eventually(lambda: node.site.slices(COMPOSITES), "composite slices", FIRST_S)
        assert node.site.slices() == []
        assert all(
            MARK.items() <= device["composite"]["taints"][-1].items()
            for one in node.site.slices(COMPOSITES)
            for device in one["spec"].get("devices", ())
        )
        node.claim("given")
        node.allocate("given", "gpu-1")
        node.pod("given")
        node.ask("waiting")

        assert node.bound("given") == "gpu-1"
        assert "cannot allocate all claims" in node.turned_away("waiting")
        assert node.device_of("waiting") == ""

        node.label(None)
        node.free(timeout_s=FIRST_S)
        assert node.bound("waiting") not in {"", "gpu-1"}


@pytest.mark.usefixtures("keeps_taints")
def test_a_node_that_is_relabelled_is_kube_schedulers_and_the_controllers_again(node: OwnedNode) -> None:
    node.label(CONTROLLER)
    with node.site.agent("--no-composite", "--resync=3600"):
        node.owned(timeout_s=FIRST_S)
        node.ask("first")
        node.turned_away("first")

        node.label("kube-scheduler")
        node.free()
        held = node.bound("first")

        node.label(CONTROLLER)
        node.owned()
        node.ask("second")
        node.turned_away("second")
        assert node.device_of("first") == held != ""  # who has a device keeps it

        node.label(None)
        node.free()
        assert node.bound("second") not in {"", held}


@pytest.mark.usefixtures("keeps_taints")
def test_a_change_of_owner_writes_the_slice_with_the_devices_and_no_other_and_is_told_once(
    node: OwnedNode,
) -> None:
    with node.site.agent("--no-composite") as agent:
        node.free(timeout_s=FIRST_S)
        writes = 'writes_total{kind="ResourceSlice",verb="update"}'

        node.label(CONTROLLER)
        node.owned()
        eventually(lambda: agent.metrics().get('allocator{allocator="controller"}') == 1, "it is told")

        assert agent.metrics()[writes] == sum("devices" in one["spec"] for one in node.site.slices()) == 1
        eventually(lambda: node.site.events() == ["DevicesOwnedByController"], "the event")


@pytest.mark.usefixtures("keeps_taints")
def test_an_agent_that_starts_again_takes_the_mark_off_no_device(node: OwnedNode) -> None:
    node.label(CONTROLLER)
    with node.site.agent("--no-composite"):
        node.owned(timeout_s=FIRST_S)
    versions = node.site.versions()

    with node.site.agent("--no-composite") as agent:
        eventually(lambda: agent.metrics().get('allocator{allocator="controller"}'), "it has published")

    assert node.site.versions() == versions


def test_where_taints_are_dropped_nothing_is_withheld_and_it_is_said_that_nobody_owns_the_node(
    node: OwnedNode, control: ClusterControl, api: KubeApi
) -> None:
    is_newer = int(api.server_version().split(".")[1]) >= 36
    if is_newer:
        control.set_feature_gates(DROPPED)
    node.label(CONTROLLER)
    with node.site.agent("--no-composite") as agent:
        node.free(timeout_s=RESTARTED_S)
        eventually(lambda: agent.metrics().get("allocator_refused") == 1, "it is told")
        node.ask("any")

        assert node.bound("any")
        assert agent.said().count(TOLD) == 1
        assert agent.metrics()['allocator{allocator="kube-scheduler"}'] == 1
        eventually(lambda: node.site.events() == ["DevicesNotOwnedByController"], "the event")
        if is_newer:
            control.set_feature_gates({})
            node.owned(timeout_s=RESTARTED_S)
            eventually(lambda: node.site.events()[1:] == ["DevicesOwnedByController"], "the second event")


def commands(marker: str) -> str:
    """Return the commands of the install guide in the block with these words."""
    (block,) = (one.text for one in blocks_of(ROOT / "docs/install.md") if marker in one.text)
    return block


def run(kubeconfig: Path, text: str) -> None:
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    subprocess.run(["bash", "-euc", text], env=environment, check=True, timeout=60)


@pytest.mark.usefixtures("keeps_taints", "control")
def test_the_guides_commands_give_nodes_back_and_let_waiting_pods_go(
    node: OwnedNode, kubeconfig: Path, api: KubeApi
) -> None:
    label, removal = commands("tangram.dev/allocator-").strip().splitlines()
    node.label(CONTROLLER)
    with node.site.agent("--no-composite"):
        node.owned(timeout_s=FIRST_S)
        node.ask("waiting")
        node.claim("gated")
        node.pod("gated", gates=("tangram.dev/allocate", "example.com/other"))
        node.turned_away("waiting")

        run(kubeconfig, label)
        node.free()
        assert node.bound("waiting")
        run(kubeconfig, commands('"$patch": "delete"'))

        left = api.get(PODS, "gated", node.namespace).document["spec"]["schedulingGates"]
        assert left == [{"name": "example.com/other"}]
    assert removal == "kubectl delete -k tangram-controller"
