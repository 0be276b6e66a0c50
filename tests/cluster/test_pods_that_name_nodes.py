"""A pod that names its node passes the scheduler by: its claim may be on another node. On two kubelets."""

from __future__ import annotations

import pytest
from cluster_support import eventually, phase, pod, running

from kube_api import EVENTS, NODES, PODS, RESOURCE_CLAIMS, KubeApi

HERE, ELSEWHERE = "node-1", "node-2"


@pytest.fixture
def claim(api: KubeApi, namespace: str) -> str:
    """A claim for a GPU that a running pod has on the first node."""
    if {one.metadata.name for one in api.list(NODES).items} != {HERE, ELSEWHERE}:
        pytest.skip("needs two nodes: hack/cluster run --controller --nodes 2")
    exactly = {"deviceClassName": "gpu.tangram.dev"}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    api.create(RESOURCE_CLAIMS, {"metadata": {"name": "one"}, "spec": spec}, namespace)
    user = pod("user", claims={"gpu": "one"}, nodeSelector={"kubernetes.io/hostname": HERE})
    api.create(PODS, user, namespace)
    running(api, "user", namespace)
    return "one"


def refusals(api: KubeApi, namespace: str) -> list[str]:
    """Return what the plugin of the second node says of claims of a namespace."""
    return [
        one.document["note"]
        for one in api.list(EVENTS, namespace).items
        if one.document.get("reportingInstance", "").endswith(ELSEWHERE)
        and one.document.get("reason") == "PrepareFailed"
    ]


def ready(api: KubeApi, claim: str, namespace: str) -> list[str]:
    """Return what a claim's status says of its devices' readiness."""
    status = api.get(RESOURCE_CLAIMS, claim, namespace).document["status"]
    conditions = [one for device in status.get("devices", ()) for one in device["conditions"]]
    return [one["status"] for one in conditions if one["type"] == "Ready"]


def test_a_pod_on_another_node_than_its_claims_does_not_run_without_its_device(
    api: KubeApi, claim: str, namespace: str
) -> None:
    before = api.get(RESOURCE_CLAIMS, claim, namespace).document["status"]["allocation"]

    api.create(PODS, pod("stray", claims={"gpu": claim}, nodeName=ELSEWHERE), namespace)
    told = eventually(lambda: refusals(api, namespace), "the other node's plugin refuses the claim")

    assert any(f"allocated on {HERE}, this is {ELSEWHERE}" in text for text in told)
    assert phase(api, "stray", namespace) == "Pending"
    # the first node's plugin writes it after its answer, so the pod may run earlier
    assert eventually(lambda: ready(api, claim, namespace), "the claim says that it is ready") == ["True"]
    assert api.get(RESOURCE_CLAIMS, claim, namespace).document["status"]["allocation"] == before

    api.delete(PODS, "stray", namespace)
    eventually(lambda: not api.list(PODS, namespace, field_selector="metadata.name=stray").items, "it ends")
    assert phase(api, "user", namespace) == "Running"
