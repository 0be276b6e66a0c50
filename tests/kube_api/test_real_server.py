"""What a real API server says is what this package takes it for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from real_api import RealApi

from kube_api import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    KubeApi,
    Listing,
    NotFound,
    Object,
    PatchKind,
    Resource,
)

pytestmark = pytest.mark.cluster

CONFIG_MAPS = Resource.of("v1", "ConfigMap", "configmaps", namespaced=True)
SERVICE_ACCOUNTS = Resource.of("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
CRDS = Resource.of("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
ROLES = Resource.of("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles")
BINDINGS = Resource.of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings")


def once_not(refusal: type[ApiError], call: Callable[[], Listing]) -> Listing:
    """Repeat a call that a server refuses until it has noticed what was just written."""
    while True:  # the test's own time limit bounds it
        try:
            return call()
        except refusal:
            Event().wait(0.05)


def a_slice(name: str, **spec: Any) -> dict[str, Any]:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    usual = {"driver": "tangram.dev", "pool": pool, "nodeName": "a", "devices": [{"name": "gpu-0"}]}
    return {"metadata": {"name": name}, "spec": usual | spec}


@pytest.fixture
def slice_name(request: pytest.FixtureRequest, real: KubeApi) -> Iterator[str]:
    name = f"slice-{abs(hash(request.node.name)):x}"
    yield name
    for left in real.list(RESOURCE_SLICES, field_selector="spec.driver=tangram.dev").items:
        if left.metadata.name == name:
            real.delete(RESOURCE_SLICES, name)


def test_it_tells_its_version_and_that_it_is_ready(real: KubeApi) -> None:
    assert real.server_version().startswith("v1.")
    assert real.raw_get("/readyz") == "ok"
    assert "apiserver_request_total" in real.raw_get("/metrics")


def test_a_slice_lives_from_creation_to_deletion(real: KubeApi, slice_name: str) -> None:
    created = real.create(RESOURCE_SLICES, a_slice(slice_name))
    read = real.get(RESOURCE_SLICES, slice_name)
    changed = real.replace(
        RESOURCE_SLICES, {**read.document, "spec": a_slice(slice_name, devices=[])["spec"]}
    )
    real.delete(RESOURCE_SLICES, slice_name, uid=changed.metadata.uid)

    assert read == created
    assert (read.metadata.generation, changed.metadata.generation) == (1, 2)
    assert int(changed.metadata.resource_version) > int(read.metadata.resource_version)
    with pytest.raises(NotFound) as caught:
        real.get(RESOURCE_SLICES, slice_name)
    assert not caught.value.is_kind_missing


def test_a_name_that_is_taken_is_told(real: KubeApi, slice_name: str) -> None:
    real.create(RESOURCE_SLICES, a_slice(slice_name))

    with pytest.raises(AlreadyExists, match=f"cannot create ResourceSlice {slice_name}: .*already exists"):
        real.create(RESOURCE_SLICES, a_slice(slice_name))


def test_a_slice_that_breaks_rules_is_refused_field_by_field(real: KubeApi, slice_name: str) -> None:
    wrong = a_slice(slice_name, devices=[{"name": "No Name"}], allNodes=True)

    with pytest.raises(Invalid) as caught:
        real.create(RESOURCE_SLICES, wrong)

    assert {cause.field for cause in caught.value.causes} >= {"spec.devices[0].name"}
    assert len(caught.value.causes) >= 2


def test_an_old_version_is_not_stored_over_a_newer_one(real: KubeApi, slice_name: str) -> None:
    old = real.create(RESOURCE_SLICES, a_slice(slice_name))
    real.patch(RESOURCE_SLICES, slice_name, {"metadata": {"labels": {"seen": "1"}}})

    with pytest.raises(Conflict):
        real.replace(RESOURCE_SLICES, old.document)


def test_an_object_of_the_same_name_is_not_deleted_for_the_one_that_was_meant(
    real: KubeApi, slice_name: str
) -> None:
    stays = real.create(RESOURCE_SLICES, a_slice(slice_name))

    with pytest.raises(Conflict):
        real.delete(RESOURCE_SLICES, slice_name, uid="00000000-0000-0000-0000-000000000000")
    with pytest.raises(Conflict):
        real.delete(RESOURCE_SLICES, slice_name, resource_version="1")

    assert real.get(RESOURCE_SLICES, slice_name) == stays


def test_a_dry_run_stores_nothing(real: KubeApi, slice_name: str) -> None:
    told = real.create(RESOURCE_SLICES, a_slice(slice_name), dry_run=True)

    assert told.metadata.uid
    with pytest.raises(NotFound):
        real.get(RESOURCE_SLICES, slice_name)


def test_pages_give_what_one_list_gives(real: KubeApi, namespace: str) -> None:
    for number in range(25):
        real.create(CONFIG_MAPS, {"metadata": {"name": f"c-{number}"}}, namespace)

    paged = real.list(CONFIG_MAPS, namespace, page=10)

    assert paged.items == real.list(CONFIG_MAPS, namespace).items
    assert len(paged.items) == 25
    assert {item.document["kind"] for item in paged.items} == {"ConfigMap"}


def test_selectors_choose(real: KubeApi, namespace: str) -> None:
    for name in "ab":
        real.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"is": name}}}, namespace)

    by_label = real.list(CONFIG_MAPS, namespace, label_selector="is in (b)")
    by_field = real.list(CONFIG_MAPS, namespace, field_selector="metadata.name=a")

    assert [item.metadata.name for item in by_label.items] == ["b"]
    assert [item.metadata.name for item in by_field.items] == ["a"]


def test_every_change_of_many_writers_is_kept(real: KubeApi, namespace: str) -> None:
    real.create(CONFIG_MAPS, {"metadata": {"name": "counter"}, "data": {"n": "0"}}, namespace)

    def add(found: Object) -> Mapping[str, Any]:
        return {**found.document, "data": {"n": str(int(found.document["data"]["n"]) + 1)}}

    def work() -> None:
        for _ in range(5):
            real.update(CONFIG_MAPS, "counter", add, namespace)

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert real.get(CONFIG_MAPS, "counter", namespace).document["data"] == {"n": "15"}


def test_apply_makes_changes_and_respects_who_owns_a_field(real: KubeApi, namespace: str) -> None:
    def apply(manager: str, value: str, force: bool = False) -> Object:
        body = {"metadata": {"name": "shared"}, "data": {"who": value}}
        return real.patch(
            CONFIG_MAPS, "shared", body, namespace, kind=PatchKind.APPLY, field_manager=manager, force=force
        )

    apply("agent", "agent")

    with pytest.raises(Conflict) as caught:
        apply("plugin", "plugin")
    assert [cause.field for cause in caught.value.causes] == [".data.who"]
    assert apply("plugin", "plugin", force=True).document["data"] == {"who": "plugin"}


def test_patches_merge_step_by_step_and_strategically(real: KubeApi, namespace: str) -> None:
    pod = {"spec": {"containers": [{"name": "a", "image": "i"}]}, "metadata": {"name": "p"}}
    real.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, namespace)
    real.create(PODS, pod, namespace)

    real.patch(PODS, "p", {"metadata": {"labels": {"a": "1", "b": "2"}}}, namespace)
    steps = [{"op": "remove", "path": "/metadata/labels/a"}]
    real.patch(PODS, "p", steps, namespace, kind=PatchKind.JSON)
    image = {"spec": {"containers": [{"name": "a", "image": "other"}]}}
    patched = real.patch(PODS, "p", image, namespace, kind=PatchKind.STRATEGIC)

    assert patched.metadata.labels == {"b": "2"}
    (container,) = patched.document["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("other", "Always")


def test_a_subresource_is_written_alone(real: KubeApi, namespace: str) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu.tangram.dev"}}
    claim = {"metadata": {"name": "train"}, "spec": {"devices": {"requests": [request]}}}
    real.create(RESOURCE_CLAIMS, claim, namespace)
    result = {"request": "r", "driver": "tangram.dev", "pool": "a", "device": "gpu-0"}

    def allocate(found: Object) -> Mapping[str, Any]:
        return {**found.document, "status": {"allocation": {"devices": {"results": [result]}}}}

    allocated = real.update(RESOURCE_CLAIMS, "train", allocate, namespace, subresource="status")

    (stored,) = allocated.document["status"]["allocation"]["devices"]["results"]
    assert stored == result


def test_what_is_not_granted_is_told_with_who_and_what(nobody: KubeApi) -> None:
    with pytest.raises(Forbidden, match=r'cannot list ResourceSlice: .*User "nobody" cannot list .*RBAC'):
        nobody.list(RESOURCE_SLICES)


def test_a_kind_that_is_not_served_is_told(real: KubeApi) -> None:
    with pytest.raises(NotFound) as caught:
        real.list(Resource.of("tangram.dev/v9", "Nothing", "nothings"))

    assert caught.value.is_kind_missing


def test_a_custom_kind_is_served_once_it_is_defined(real: KubeApi) -> None:
    names = {"kind": "Thing", "plural": "things", "singular": "thing"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "test.tangram.dev", "scope": "Cluster", "names": names, "versions": [version]}
    things = Resource.of("test.tangram.dev/v1alpha1", "Thing", "things")
    real.create(CRDS, {"metadata": {"name": "things.test.tangram.dev"}, "spec": spec})

    once_not(NotFound, lambda: real.list(things))
    real.create(things, {"metadata": {"name": "t"}, "spec": {"x": 1}})

    assert [item.document["spec"] for item in real.list(things).items] == [{"x": 1}]


def test_a_pods_service_account_is_accepted_and_may_do_what_is_granted(
    real: KubeApi, real_server: RealApi, namespace: str, tmp_path: Path, certificate: Path
) -> None:
    real.create(SERVICE_ACCOUNTS, {"metadata": {"name": "agent"}}, namespace)
    subject = {"kind": "ServiceAccount", "name": "agent", "namespace": namespace}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    real.create(ROLES, {"metadata": {"name": namespace}, "rules": rules})
    role = {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": namespace}
    real.create(BINDINGS, {"metadata": {"name": namespace}, "roleRef": role, "subjects": [subject]})
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"name": "agent"}}
    token = real.create(SERVICE_ACCOUNTS, {**wanted, "spec": {}}, namespace, subresource="token")
    (tmp_path / "token").write_text("not a token yet")
    (tmp_path / "ca.crt").write_bytes((certificate / "tls.crt").read_bytes())
    environ = {
        "HOME": str(tmp_path),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(real_server.port),
    }
    api = KubeApi.connect(
        user_agent="t",
        clock=lambda: 0.0,
        sleep=lambda seconds: None,
        random=lambda: 0.0,
        environ=environ,
        service_account=tmp_path,
    )

    (tmp_path / "token").write_text(token.document["status"]["token"])

    assert once_not(Forbidden, lambda: api.list(CONFIG_MAPS, namespace)).items == ()
    with pytest.raises(Forbidden, match=f"system:serviceaccount:{namespace}:agent"):
        api.create(CONFIG_MAPS, {"metadata": {"name": "c"}}, namespace)
    api.close()


@pytest.mark.parametrize("kind", [NODES, DEVICE_CLASSES])
def test_an_empty_list_is_empty(real: KubeApi, kind: Resource) -> None:
    assert real.list(kind).items == ()
