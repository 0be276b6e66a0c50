"""Two tenants on one node, with real tokens: what one has is counted, and the other learns nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from cluster_support import Document, eventually, pod, running
from story import DRIVER, Gpu, free_gpu

from kube_api import EVENTS, NAMESPACES, PODS, RESOURCE_CLAIMS, Forbidden, KubeApi, NotFound, Resource

QUOTAS = Resource.of("v1", "ResourceQuota", "resourcequotas", namespaced=True)
COUNTED = f"gpu.{DRIVER}.deviceclass.resource.k8s.io/devices"
FINALIZER = "resource.kubernetes.io/delete-protection"


def claim(name: str, gpu: Gpu) -> Document:
    expression = f'device.attributes["{DRIVER}"].uuid == "{gpu.uuid}"'
    exactly = {"deviceClassName": f"gpu.{DRIVER}", "selectors": [{"cel": {"expression": expression}}]}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    return {"metadata": {"name": name}, "spec": spec}


def is_there(api: KubeApi, kind: Resource, name: str, namespace: str) -> bool:
    try:
        return bool(api.get(kind, name, namespace))
    except NotFound:
        return False


def may_create(tenant: KubeApi, document: Document, namespace: str) -> bool:
    try:
        return bool(tenant.create(RESOURCE_CLAIMS, document, namespace, dry_run=True))
    except Forbidden:
        return False


@pytest.fixture
def gpu(api: KubeApi, node: str) -> Gpu:
    found: Gpu = eventually(lambda: free_gpu(api, node), "a GPU is free")
    return found


@pytest.fixture
def user(api: KubeApi, gpu: Gpu, namespace: str) -> str:
    """The pod of the first tenant, which has the GPU."""
    api.create(QUOTAS, {"metadata": {"name": "gpus"}, "spec": {"hard": {COUNTED: "1"}}}, namespace)
    used = {"metadata": {"name": "hermes"}, "spec": claim("hermes", gpu)["spec"]}
    # The quota counts once its controller has seen it.
    eventually(lambda: "used" in api.get(QUOTAS, "gpus", namespace).document.get("status", {}), "the quota")
    api.create(RESOURCE_CLAIMS, used, namespace)
    api.create(PODS, pod("user", claims={"gpu": "hermes"}), namespace)
    running(api, "user", namespace)
    return "user"


@pytest.fixture
def other_namespace(api: KubeApi, namespace: str) -> Iterator[str]:
    name = f"{namespace}-other"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    with suppress(NotFound):
        api.delete(NAMESPACES, name)


def test_a_tenant_that_deletes_its_claim_in_use_keeps_no_device_off_the_books(
    api: KubeApi, as_tenant: Callable[[str], KubeApi], user: str, gpu: Gpu, namespace: str
) -> None:
    tenant = as_tenant(namespace)

    tenant.delete(RESOURCE_CLAIMS, "hermes", namespace)
    with pytest.raises(
        Forbidden, match=f"the claim has device {gpu.name} of node {gpu.node}, used by pods/user"
    ):
        tenant.patch(RESOURCE_CLAIMS, "hermes", {"metadata": {"finalizers": None}}, namespace)
    with pytest.raises(Forbidden, match="exceeded quota"):
        tenant.create(RESOURCE_CLAIMS, claim("second", gpu), namespace)

    status = api.get(RESOURCE_CLAIMS, "hermes", namespace).document["status"]
    assert status["allocation"]["devices"]["results"][0]["device"] == gpu.name

    tenant.delete(PODS, user, namespace)
    eventually(lambda: not is_there(api, PODS, user, namespace), "the pod ends", 60)
    eventually(
        lambda: not is_there(api, RESOURCE_CLAIMS, "hermes", namespace), "the claim goes by itself", 60
    )
    eventually(lambda: may_have_another(tenant, gpu, namespace), "the quota counts the claim no more", 60)


def may_have_another(tenant: KubeApi, gpu: Gpu, namespace: str) -> bool:
    """Whether the quota leaves room for a claim. The API server counts a deleted one a while longer."""
    try:
        tenant.create(RESOURCE_CLAIMS, claim("second", gpu), namespace, dry_run=True)
    except Forbidden as error:
        if "exceeded quota" not in str(error):
            raise
        return False
    return True


def notes(api: KubeApi, namespace: str) -> list[str]:
    """Return what the plugin says of the claims of a namespace."""
    found = (one.document for one in api.list(EVENTS, namespace).items)
    return [one["note"] for one in found if one.get("reportingController") == f"{DRIVER}/plugin"]


def test_a_tenant_whose_device_another_one_has_learns_its_claims_uid_and_no_name(
    api: KubeApi, user: str, gpu: Gpu, namespace: str, other_namespace: str
) -> None:
    uid = api.get(RESOURCE_CLAIMS, "hermes", namespace).metadata.uid
    field = {"key": "metadata.name", "operator": "In", "values": [gpu.node]}
    result = {"request": "gpu", "driver": DRIVER, "pool": gpu.node, "device": gpu.name}
    wanted = claim("theirs", gpu)
    wanted["metadata"]["finalizers"] = [FINALIZER]
    stored = api.create(RESOURCE_CLAIMS, wanted, other_namespace).document
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        "allocationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    # An allocator that does not know that the GPU is taken.
    api.replace(RESOURCE_CLAIMS, {**stored, "status": {"allocation": allocation}}, other_namespace, "status")
    api.create(PODS, pod("waits", claims={"gpu": "theirs"}), other_namespace)

    told = eventually(lambda: notes(api, other_namespace), "the plugin tells why it waits", 60)

    assert any(f"a claim of another namespace (completed, UID {uid})" in text for text in told)
    everything = str([one.document for one in api.list(EVENTS, other_namespace).items])
    everything += str(api.get(RESOURCE_CLAIMS, "theirs", other_namespace).document.get("status"))
    assert f"{namespace}/" not in everything
    assert "hermes" not in everything

    api.delete(PODS, user, namespace)
    running(api, "waits", other_namespace, 120)
    api.delete(PODS, "waits", other_namespace)
    eventually(lambda: not is_there(api, PODS, "waits", other_namespace), "it ends", 60)
