"""Every verb says to the server what the API's conventions want, and returns what the server stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from scripted_api import Reply, Script, document, status

from kube_api import (
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Conflict,
    Expired,
    KubeApi,
    Object,
    PatchKind,
    Resource,
)

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def test_an_object_keeps_fields_that_nobody_here_knows(api: KubeApi, server: Script) -> None:
    server.answers(Reply(document("train", 7, spec={"fromTheFuture": [1]})))

    found = api.get(RESOURCE_CLAIMS, "train", "default")

    assert (found.metadata.name, found.metadata.resource_version) == ("train", "7")
    assert found.document["spec"] == {"fromTheFuture": [1]}
    assert server.said == [f"GET {CLAIMS}/train"]


def test_the_metadata_is_typed_and_whole(api: KubeApi, server: Script) -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "u-node", "controller": True}
    metadata = {
        "name": "a-1",
        "uid": "u",
        "generation": 3,
        "labels": {"l": "1"},
        "annotations": {"a": "2"},
        "ownerReferences": [owner],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    server.answers(Reply({"metadata": metadata}))

    found = api.get(RESOURCE_SLICES, "a-1").metadata

    assert (found.generation, found.labels, found.annotations) == (3, {"l": "1"}, {"a": "2"})
    assert found.owner_uids == ("u-node",)
    assert found.deletion_timestamp == "2026-01-01T00:00:00Z"


def test_every_call_says_who_asks_and_with_which_token(api: KubeApi, server: Script) -> None:
    api.get(NODES, "a")

    headers = server.requests[0].headers
    assert (headers["User-Agent"], headers["Authorization"]) == ("tangram-test", "Bearer first")


def test_names_cannot_leave_their_place_in_the_path(api: KubeApi, server: Script) -> None:
    api.get(RESOURCE_CLAIMS, "../secrets/x", "default")

    assert server.said == [f"GET {CLAIMS}/..%2Fsecrets%2Fx"]


@pytest.mark.parametrize(("resource", "namespace"), [(RESOURCE_CLAIMS, None), (NODES, "default")])
def test_a_namespace_that_does_not_fit_the_kind_is_refused_before_anything_is_sent(
    api: KubeApi, server: Script, resource: Resource, namespace: str | None
) -> None:
    with pytest.raises(ValueError, match="namespace"):
        api.get(resource, "a", namespace)

    assert server.requests == []


def test_a_list_follows_its_pages_and_completes_every_item(api: KubeApi, server: Script) -> None:
    items = [{"metadata": {"name": name}} for name in "abc"]
    server.answers(
        Reply({"metadata": {"resourceVersion": "9", "continue": "next"}, "items": items[:2]}),
        Reply({"metadata": {"resourceVersion": "9"}, "items": items[2:]}),
    )

    listing = api.list(RESOURCE_SLICES, label_selector="x=y", field_selector="spec.nodeName=a", page=2)

    assert [item.metadata.name for item in listing.items] == ["a", "b", "c"]
    assert listing.resource_version == "9"
    assert {(item.document["apiVersion"], item.document["kind"]) for item in listing.items} == {
        ("resource.k8s.io/v1", "ResourceSlice")
    }
    first, second = (request.query for request in server.requests)
    assert first == {"limit": "2", "labelSelector": "x=y", "fieldSelector": "spec.nodeName=a"}
    assert second == first | {"continue": "next"}


def test_a_list_whose_pages_grew_too_old_is_read_at_once(api: KubeApi, server: Script) -> None:
    page = {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": [document("old")]}
    server.answers(
        Reply(page),
        Reply(status(410, "Expired"), 410),
        Reply({"metadata": {"resourceVersion": "12"}, "items": [document("new")]}),
    )

    listing = api.list(RESOURCE_CLAIMS)

    assert [item.metadata.name for item in listing.items] == ["new"]
    assert server.requests[2].query == {}


def test_a_list_that_stays_too_old_is_an_error(api: KubeApi, server: Script) -> None:
    server.answers(Reply(status(410, "Expired"), 410))

    with pytest.raises(Expired, match="cannot list ResourceClaim"):
        api.list(RESOURCE_CLAIMS)


def test_an_empty_list_of_a_custom_resource_may_be_null(api: KubeApi, server: Script) -> None:
    server.answers(Reply({"metadata": {"resourceVersion": "1"}, "items": None}))

    listing = api.list(
        Resource.of("tangram.dev/v1alpha1", "CompositeResourceSlice", "compositeresourceslices")
    )

    assert listing.items == ()
    assert server.said == ["GET /apis/tangram.dev/v1alpha1/compositeresourceslices"]


def test_create_posts_to_the_kind_and_completes_the_document(api: KubeApi, server: Script) -> None:
    server.answers(Reply(document("train", 2), 201))

    created = api.create(RESOURCE_CLAIMS, {"metadata": {"generateName": "train-"}}, "default")

    assert created.metadata.name == "train"
    assert server.said == [f"POST {CLAIMS}"]
    assert server.requests[0].body == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"generateName": "train-"},
    }


def test_what_belongs_to_an_object_is_created_below_it_with_its_own_kind(
    api: KubeApi, server: Script
) -> None:
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"name": "a"}}

    api.create(PODS, binding, "default", subresource="binding")

    assert server.said == ["POST /api/v1/namespaces/default/pods/p/binding"]
    assert server.requests[0].body == binding


def test_a_dry_run_says_so_and_may_be_repeated(api: KubeApi, server: Script) -> None:
    server.answers(Reply(status(500), 500), Reply(document("train")))

    api.create(RESOURCE_CLAIMS, document("train"), dry_run=True)

    assert [request.query for request in server.requests] == [{"dryRun": "All"}] * 2


def test_replace_takes_name_and_namespace_from_the_document(api: KubeApi, server: Script) -> None:
    server.answers(Reply(document("train", 3)))

    api.replace(RESOURCE_CLAIMS, document("train", 2), subresource="status")

    assert server.said == [f"PUT {CLAIMS}/train/status"]
    assert server.requests[0].body["metadata"]["resourceVersion"] == "2"


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        (PatchKind.MERGE, "application/merge-patch+json"),
        (PatchKind.STRATEGIC, "application/strategic-merge-patch+json"),
    ],
)
def test_a_patch_sends_its_body_as_it_is(
    api: KubeApi, server: Script, kind: PatchKind, content_type: str
) -> None:
    api.patch(RESOURCE_CLAIMS, "train", {"a": None}, "default", kind=kind)

    request = server.requests[0]
    assert (request.method, request.body, request.query) == ("PATCH", {"a": None}, {})
    assert request.headers["Content-Type"] == content_type


def test_a_json_patch_is_a_list_of_steps(api: KubeApi, server: Script) -> None:
    steps = [{"op": "remove", "path": "/metadata/finalizers/0"}]

    api.patch(RESOURCE_CLAIMS, "train", steps, "default", kind=PatchKind.JSON)

    assert server.requests[0].body == steps
    assert server.requests[0].headers["Content-Type"] == "application/json-patch+json"


def test_apply_names_its_owner_of_fields_and_the_kind(api: KubeApi, server: Script) -> None:
    api.patch(NODES, "a", {"metadata": {}}, kind=PatchKind.APPLY, field_manager="agent", force=True)

    request = server.requests[0]
    assert request.query == {"fieldManager": "agent", "force": "true"}
    assert request.body == {"apiVersion": "v1", "kind": "Node", "metadata": {}}
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"


def test_apply_without_an_owner_of_fields_is_refused_before_anything_is_sent(
    api: KubeApi, server: Script
) -> None:
    with pytest.raises(ValueError, match="field manager"):
        api.patch(NODES, "a", {}, kind=PatchKind.APPLY)

    assert server.requests == []


def test_delete_names_the_object_that_was_read(api: KubeApi, server: Script) -> None:
    api.delete(RESOURCE_CLAIMS, "train", "default", uid="u", resource_version="4")

    assert server.said == [f"DELETE {CLAIMS}/train"]
    assert server.requests[0].body["preconditions"] == {"uid": "u", "resourceVersion": "4"}


def finalized(found: Object) -> Mapping[str, Any]:
    """Make a document that says nothing of the version that it comes from."""
    return {"metadata": {"name": found.metadata.name}, "spec": {"seen": found.metadata.resource_version}}


def test_update_starts_again_when_someone_else_was_faster(api: KubeApi, server: Script) -> None:
    server.answers(
        Reply(document("train", 1)),
        Reply(status(409, "Conflict"), 409),
        Reply(document("train", 2)),
        Reply(document("train", 3)),
    )

    updated = api.update(RESOURCE_CLAIMS, "train", finalized, "default")

    assert updated.metadata.resource_version == "3"
    last = server.requests[-1].body
    assert last["spec"] == {"seen": "2"}
    assert (last["metadata"]["resourceVersion"], last["metadata"]["uid"]) == ("2", "uid-train")


def test_update_writes_nothing_where_there_is_nothing_to_change(api: KubeApi, server: Script) -> None:
    server.answers(Reply(document("train", 1)))

    found = api.update(RESOURCE_CLAIMS, "train", lambda found: None, "default")

    assert found.metadata.resource_version == "1"
    assert server.said == [f"GET {CLAIMS}/train"]


def test_update_gives_up_after_as_many_conflicts_as_it_may_try(api: KubeApi, server: Script) -> None:
    def answer(request: Any) -> Reply:
        return Reply(document("train")) if request.method == "GET" else Reply(status(409, "Conflict"), 409)

    server.answers(answer)

    with pytest.raises(Conflict, match="cannot replace ResourceClaim default/train"):
        api.update(RESOURCE_CLAIMS, "train", finalized, "default")

    assert [request.method for request in server.requests] == ["GET", "PUT"] * 5


def test_the_server_says_its_version_and_whether_it_is_ready(api: KubeApi, server: Script) -> None:
    server.answers(Reply({"gitVersion": "v1.37.1", "major": "1"}), Reply(b"ok"))

    assert api.server_version() == "v1.37.1"
    assert api.raw_get("/readyz") == "ok"
    assert server.said == ["GET /version", "GET /readyz"]


def test_whether_a_kind_is_served_is_known_from_the_discovery_of_its_version(
    api: KubeApi, server: Script
) -> None:
    server.answers(
        Reply({"kind": "APIResourceList", "resources": [{"name": "resourceclaims"}]}),
        Reply({"kind": "APIResourceList", "resources": []}),
        Reply(b"404 page not found\n", 404),
        Reply({"kind": "APIResourceList", "resources": [{"name": "nodes"}]}),
    )

    assert [api.serves(one) for one in (RESOURCE_CLAIMS, RESOURCE_CLAIMS, RESOURCE_CLAIMS, NODES)] == [
        True,
        False,
        False,
        True,
    ]
    assert server.said == ["GET /apis/resource.k8s.io/v1"] * 3 + ["GET /api/v1"]


def test_an_api_server_below_a_path_is_asked_below_it(
    connect: Callable[..., KubeApi], server: Script
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}/clusters/c-1")
    server.answers(Reply({"metadata": {"name": "a"}}))

    api.get(NODES, "a")

    (request,) = server.requests
    assert request.path == "/clusters/c-1/api/v1/nodes/a"


def test_behind_a_proxy_the_proxy_is_asked_for_the_server(
    connect: Callable[..., KubeApi], server: Script
) -> None:
    proxy = {"proxy-url": f"http://127.0.0.1:{server.server_port}"}
    api = connect("http://api.invalid:6443", proxy)
    server.answers(Reply({"metadata": {"name": "a"}}))

    api.get(NODES, "a")

    (request,) = server.requests
    assert (request.headers["Host"], request.path) == ("api.invalid:6443", "/api/v1/nodes/a")
