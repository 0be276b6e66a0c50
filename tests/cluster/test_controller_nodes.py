"""The controller beside kube-scheduler: a node that fills up between allocation and bind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bare_node import install_classes
from cluster_support import Document, eventually
from fleet import Fleet, controller, machine_slices
from launcher.client import ClusterControl

from kube_api import PODS, RESOURCE_CLAIMS, KubeApi
from scheduler_core.model.ownership import GATE

pytestmark = pytest.mark.layout


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """The slices of a DGX A100: eight GPUs, eight NICs with VFs."""
    return machine_slices("dgx-a100", tmp_path_factory.mktemp("machine"))


@pytest.fixture
def fleet(
    api: KubeApi, control: ClusterControl, namespace: str, kubeconfig: Path, tmp_path: Path
) -> Iterator[Fleet]:
    """No node yet; the controller leads. Control is needed: it would disturb the controller of a user."""
    assert control
    if int(api.server_version().split(".")[1]) < 36:
        pytest.skip("needs the feature gate DRADeviceTaints, on from Kubernetes 1.36")
    install_classes(api, "deploy/examples/device-classes.yaml")
    found = Fleet(api, namespace)
    with controller(api, kubeconfig, tmp_path):
        yield found
        found.close()


def writers(fleet: Fleet, claim: str) -> set[str]:
    """Return who wrote the allocation that a claim has now."""
    fields = fleet.api.get(RESOURCE_CLAIMS, claim, fleet.namespace).document["metadata"]["managedFields"]
    return {one["manager"] for one in fields if "f:allocation" in one["fieldsV1"].get("f:status", {})}


def test_a_pod_whose_node_was_filled_before_it_was_bound_runs_elsewhere_on_devices_of_the_controllers_choice(
    fleet: Fleet, control: ClusterControl, machine: list[Document]
) -> None:
    for _ in range(2):
        fleet.add(machine, cpu="4")
    wanted = {"deviceClassName": "gpu.tangram.dev", "count": 2}
    spec = {"devices": {"requests": [{"name": "gpus", "exactly": wanted}]}}
    control.stop("scheduler")
    fleet.api.create(RESOURCE_CLAIMS, {"metadata": {"name": "c"}, "spec": spec}, fleet.namespace)
    pod = fleet.pod("p", "c", cpu="3", schedulingGates=[{"name": GATE}])
    fleet.api.create(PODS, pod, fleet.namespace)
    eventually(lambda: fleet.devices_of("c"), "the controller has allocated", 60)
    chosen = fleet.devices_of("c")[0][0]
    (other,) = {*fleet.nodes} - {chosen}

    filler = fleet.pod("filler", cpu="3", nodeName=chosen)
    fleet.api.create(PODS, filler, fleet.namespace)
    control.start("scheduler")

    assert eventually(lambda: fleet.node_of("p"), "the pod is bound", 90) == other
    assert [pool for pool, _ in fleet.devices_of("c")] == [other, other]
    assert writers(fleet, "c") == {"tangram-controller"}
