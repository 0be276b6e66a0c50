"""A tenant cannot take the books away from a device that its pod has, whatever the version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from cluster_support import Document, eventually, pod

from kube_api import PODS, RESOURCE_CLAIMS, Forbidden, Invalid, KubeApi, NotFound, PatchKind

pytestmark = pytest.mark.layout
FINALIZER = "resource.kubernetes.io/delete-protection"
REFUSED = f"remove the finalizer {FINALIZER}: the claim has device gpu-0 of node node-x"

Change = Callable[[KubeApi, str], None]


def merge(tenant: KubeApi, namespace: str) -> None:
    tenant.patch(RESOURCE_CLAIMS, "c", {"metadata": {"finalizers": None}}, namespace)


def remove(tenant: KubeApi, namespace: str) -> None:
    tenant.patch(
        RESOURCE_CLAIMS,
        "c",
        [{"op": "remove", "path": "/metadata/finalizers"}],
        namespace,
        kind=PatchKind.JSON,
    )


def another_instead(tenant: KubeApi, namespace: str) -> None:
    tenant.patch(RESOURCE_CLAIMS, "c", {"metadata": {"finalizers": ["example.com/mine"]}}, namespace)


def replace(tenant: KubeApi, namespace: str) -> None:
    stored = tenant.get(RESOURCE_CLAIMS, "c", namespace).document
    metadata = {key: value for key, value in stored["metadata"].items() if key != "finalizers"}
    tenant.replace(RESOURCE_CLAIMS, {**stored, "metadata": metadata}, namespace)


CHANGES = [merge, remove, another_instead, replace]


class Claims:
    """Makes claims as an allocator leaves them, in one namespace."""

    def __init__(self, api: KubeApi, namespace: str) -> None:
        self.api, self.namespace = api, namespace

    def allocate(self, driver: str = "tangram.dev", *, is_used: bool = True) -> None:
        """Make a claim that is allocated, and used by a pod which waits for its gate."""
        wanted = {"requests": [{"name": "r", "exactly": {"deviceClassName": "none.example.com"}}]}
        metadata = {"name": "c", "finalizers": [FINALIZER]}
        claim = {"metadata": metadata, "spec": {"devices": wanted}}
        self.api.create(RESOURCE_CLAIMS, claim, self.namespace)
        document = pod("p", claims={"gpu": "c"}, schedulingGates=[{"name": "example.com/wait"}])
        uid = self.api.create(PODS, document, self.namespace).metadata.uid
        result = {"request": "r", "driver": driver, "pool": "node-x", "device": "gpu-0"}
        status: Document = {"allocation": {"devices": {"results": [result]}}}
        if is_used:
            status["reservedFor"] = [{"resource": "pods", "name": "p", "uid": uid}]
        self.write(status)

    def write(self, status: Document) -> None:
        self.api.patch(RESOURCE_CLAIMS, "c", {"status": status}, self.namespace, subresource="status")

    def finalizers(self) -> list[str]:
        found = self.api.get(RESOURCE_CLAIMS, "c", self.namespace).document
        return list(found["metadata"].get("finalizers", ()))

    def end(self) -> None:
        """Leave nothing: no kubelet and no driver would ever end these claims."""
        with suppress(NotFound):
            self.api.delete(PODS, "p", self.namespace)
        with suppress(NotFound):
            self.write({"allocation": None, "reservedFor": None})
            self.api.patch(RESOURCE_CLAIMS, "c", {"metadata": {"finalizers": None}}, self.namespace)
            self.api.delete(RESOURCE_CLAIMS, "c", self.namespace)


@pytest.fixture
def tenant(rights: None, as_tenant: Callable[[str], KubeApi], namespace: str) -> KubeApi:
    """The API server as somebody who may do everything with claims, and nothing with their statuses."""
    assert rights is None
    return as_tenant(namespace)


@pytest.fixture
def made(api: KubeApi, namespace: str) -> Iterator[Claims]:
    """Claims that end with the test."""
    found = Claims(api, namespace)
    yield found
    found.end()


@pytest.fixture
def claims(made: Claims, tenant: KubeApi, api: KubeApi, namespace: str) -> Claims:
    """Claims, once the policy is in force."""
    made.allocate()

    def is_in_force() -> bool:
        try:
            merge(tenant, namespace)
        except Forbidden:
            return True
        api.patch(RESOURCE_CLAIMS, "c", {"metadata": {"finalizers": [FINALIZER]}}, namespace)
        return False

    eventually(is_in_force, "the policy is in force", 10)
    return made


@pytest.mark.parametrize("change", CHANGES)
def test_a_tenant_cannot_clear_the_finalizer_of_a_claim_that_a_pod_uses(
    claims: Claims, tenant: KubeApi, namespace: str, change: Change
) -> None:
    with pytest.raises(Forbidden) as refused:
        change(tenant, namespace)
    tenant.delete(RESOURCE_CLAIMS, "c", namespace)
    with pytest.raises((Forbidden, Invalid)):  # what is being deleted gets no new finalizer either
        change(tenant, namespace)

    assert REFUSED in str(refused.value)
    assert "used by pods/p; delete what uses the claim" in str(refused.value)
    assert claims.finalizers() == [FINALIZER]


@pytest.mark.parametrize(
    "user",
    [
        "system:kube-scheduler",  # it deletes claims of extended resources that it has allocated in vain
        "system:serviceaccount:kube-system:resource-claim-controller",
    ],
)
def test_whoever_writes_the_status_of_claims_ends_them_as_ever(
    claims: Claims, kubectl: Callable[..., str], namespace: str, user: str
) -> None:
    patch = '{"metadata": {"finalizers": null}}'

    kubectl(
        f"--as={user}", "patch", "resourceclaim", "c", "-n", namespace, "--type=merge", f"--patch={patch}"
    )

    assert claims.finalizers() == []


def test_everything_else_of_a_claim_in_use_may_change(
    claims: Claims, tenant: KubeApi, namespace: str
) -> None:
    more = {"metadata": {"labels": {"a": "b"}, "finalizers": [FINALIZER, "example.com/mine"]}}

    tenant.patch(RESOURCE_CLAIMS, "c", more, namespace)
    tenant.patch(RESOURCE_CLAIMS, "c", {"metadata": {"finalizers": [FINALIZER]}}, namespace)

    assert claims.finalizers() == [FINALIZER]


def test_an_allocated_claim_that_nobody_uses_yet_keeps_its_finalizer_for_the_pod_to_come(
    claims: Claims, tenant: KubeApi, namespace: str
) -> None:
    claims.write({"reservedFor": None})

    with pytest.raises(Forbidden) as refused:
        merge(tenant, namespace)

    assert f"{REFUSED}; delete" in str(refused.value)


@pytest.mark.parametrize("change", CHANGES)
def test_without_the_allocation_the_finalizer_may_go(
    claims: Claims, tenant: KubeApi, namespace: str, change: Change
) -> None:
    claims.write({"reservedFor": None, "allocation": None})

    change(tenant, namespace)

    assert FINALIZER not in claims.finalizers()


def test_claims_for_other_drivers_devices_are_those_drivers_business(
    made: Claims, tenant: KubeApi, namespace: str
) -> None:
    made.allocate("gpu.example.com")

    merge(tenant, namespace)

    assert made.finalizers() == []
