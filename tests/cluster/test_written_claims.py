"""A real API server takes what admission and the controller write: changed pods, and allocated claims."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from short_folders import short_folder

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.options.mode_option import read_gpu_modes
from kube_api import PODS, RESOURCE_CLAIMS, KubeApi
from scheduler_core.frontends.admission.changes import admission_of
from scheduler_core.frontends.classes.claims import class_claim
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.frontends.pods.written_claim import (
    claim_document,
    held_claim,
    requests_of_amounts,
    requests_of_classes,
)
from scheduler_core.model.claim import AllocatedDevice, ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState

GPU, RDMA, CORE, RATIO = (
    "nvidia.com/gpu",
    "koordinator.sh/rdma",
    "koordinator.sh/gpu-core",
    "koordinator.sh/gpu-memory-ratio",
)
SAME_PCIE = {"device-joint-allocate": {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}}
FINALIZER = "resource.kubernetes.io/delete-protection"


@pytest.fixture(scope="module")
def pool():
    with short_folder() as folder:
        machine = SimulatedMachine.open(load_node("dgx-a100"), Path(folder))
        inventory = discover(simulated_hardware(machine).readers, "node-1")
    return describe(replace(inventory, modes=read_gpu_modes(["all=whole,mig,shared"]))).pool


def amounts(pool, wanted, marks):
    state = ClusterState()
    state.set_pool(pool)
    ask = ask_of("Pod default/p", wanted, marks)
    found = PodPlacer(state).place(ask, Node("node-1"))
    assert isinstance(found, PlacedPod), found
    return ask, requests_of_amounts(found, lambda: str(uuid.uuid4()))


@pytest.mark.parametrize(
    ("wanted", "marks"),
    [
        ({GPU: 4, RDMA: 1}, SAME_PCIE),
        ({RDMA: 200}, {"device-allocate-hint": {"rdma": {"exclusivePolicy": "PCIeLevel"}}}),
        ({CORE: 30, RATIO: 50, RDMA: 1}, {}),
        ({"koordinator.sh/gpu.shared": 3, RATIO: 90}, {}),
    ],
    ids=["GPUs and VFs", "whole NICs, alone on their switches", "a share and a VF", "three shares"],
)
def test_the_server_stores_the_claim_of_a_pods_amounts_as_it_was_written(
    api: KubeApi, namespace, pool, wanted, marks
):
    ask, requests = amounts(pool, wanted, marks)
    name = f"claim-{uuid.uuid4().hex[:6]}"
    written = claim_document(
        requests,
        node="node-1",
        ask=ask,
        metadata={"name": name, "namespace": namespace, "finalizers": [FINALIZER]},
    )

    stored = stored_claim(api, written)

    assert stored["status"]["allocation"] == written["status"]["allocation"]
    ours, theirs = held_claim(written), held_claim(stored)
    assert (theirs.results, theirs.exclusive) == (ours.results, ours.exclusive)


def test_the_server_stores_a_claim_for_classes_that_no_device_class_is_made_for(api: KubeApi, namespace):
    name = f"claim-{uuid.uuid4().hex[:6]}"
    claim = class_claim(ClaimRef(namespace, name), {"fast.nic": 1})
    results = [AllocatedDevice("class-fast-nic", DeviceId("tangram.dev", "node-1", "nic-0"))]
    metadata = {"name": name, "namespace": namespace, "finalizers": [FINALIZER]}
    written = claim_document(requests_of_classes(claim, results), node="node-1", metadata=metadata)

    assert stored_claim(api, written)["status"]["allocation"] == written["status"]["allocation"]


def stored_claim(api, written):
    namespace = written["metadata"]["namespace"]
    created = api.create(RESOURCE_CLAIMS, written, namespace).document
    stored = api.replace(
        RESOURCE_CLAIMS, {**created, "status": written["status"]}, namespace, "status"
    ).document
    freed = api.replace(RESOURCE_CLAIMS, {**stored, "status": {}}, namespace, "status").document
    metadata = {**freed["metadata"], "finalizers": []}
    api.replace(RESOURCE_CLAIMS, {**freed, "metadata": metadata}, namespace)  # the namespace can go
    return stored


@pytest.mark.parametrize(
    "named", [{"name": "web-0"}, {"generateName": "web-"}], ids=["a name", "no name yet"]
)
def test_the_server_takes_the_pod_that_admission_changed(api: KubeApi, namespace, named):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**named, "namespace": namespace},
        "spec": {
            "initContainers": [{"name": "i", "image": "x", "resources": {"requests": {RDMA: 1}}}],
            "containers": [
                {"name": "c", "image": "x", "resources": {"limits": {RDMA: 1, "cpu": "1"}}},
                {"name": "d", "image": "x"},
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        },
    }
    pod["spec"]["containers"][1]["resources"] = {"claims": [{"name": "gpu"}]}
    patch = admission_of(pod, namespace, str(uuid.uuid4())).patch()

    stored = api.create(PODS, applied(pod, patch), namespace).document

    assert [one["name"] for one in stored["spec"]["schedulingGates"]] == ["tangram.dev/allocate"]
    assert stored["spec"]["initContainers"][0]["resources"] == {"claims": [{"name": "tangram"}]}
    assert admission_of(stored, namespace, str(uuid.uuid4())).patch() == []


def applied(pod, patch):
    """The pod after a patch whose paths end in an object's field."""
    for one in patch:
        *way, last = one["path"].split("/")[1:]
        at = pod
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        at[last] = one["value"]
    return pod
