"""What the agent asks of an API server, over a real socket, and what each failure means for publishing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_api import Reply, Script, Stream, serving, status, write_kubeconfig

from agent.api import ApiSliceStore, Cluster
from agent.publishing import errors
from agent.publishing.ports import Heard
from scheduler_core.model.ownership import CONTROLLER, MEMBERS, OWNER, POOL_LABEL

SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "node-1-0", "uid": "u1", "resourceVersion": "7"},
    "spec": {"driver": "tangram.dev"},
}


@pytest.fixture
def server() -> Iterator[Script]:
    yield from serving(Script())


@pytest.fixture
def cluster(server: Script, tmp_path: Path) -> Iterator[Cluster]:
    host, port = server.server_address[:2]
    file = write_kubeconfig(tmp_path / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"})
    connected = Cluster.connect(file, None)
    yield connected
    connected.close()


@pytest.fixture
def store(cluster: Cluster) -> ApiSliceStore:
    return cluster.resource_slices("tangram.dev", "node-1")


def test_without_a_way_to_an_api_server_nothing_is_connected(tmp_path: Path) -> None:
    with pytest.raises(errors.ServerError, match="no such file"):
        Cluster.connect(tmp_path / "missing", None)


def test_a_created_object_is_returned_as_the_server_stored_it(server: Script, store: ApiSliceStore) -> None:
    server.answers(Reply(SLICE))

    assert store.create(SLICE) == SLICE

    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/apis/resource.k8s.io/v1/resourceslices")
    assert "dryRun" not in request.query


def test_a_dry_run_is_marked_as_one(server: Script, store: ApiSliceStore) -> None:
    server.answers(Reply(SLICE))

    store.create(SLICE, dry_run=True)

    assert server.requests[0].query["dryRun"] == "All"


def test_a_deletion_names_the_uid_and_the_version(server: Script, store: ApiSliceStore) -> None:
    server.answers(Reply(status(200)))

    store.delete("node-1-0", "u1", "7")

    (request,) = server.requests
    assert (request.method, request.path) == ("DELETE", "/apis/resource.k8s.io/v1/resourceslices/node-1-0")
    assert request.body["preconditions"] == {"uid": "u1", "resourceVersion": "7"}


@pytest.mark.parametrize(
    ("code", "reason", "meaning"),
    [
        (404, "NotFound", errors.NotThere),
        (409, "Conflict", errors.Outdated),
        (409, "AlreadyExists", errors.Outdated),
        (403, "Forbidden", errors.NotAllowed),
        (422, "Invalid", errors.Refused),
    ],
)
def test_each_failure_has_the_class_that_the_publisher_reacts_to(
    server: Script, store: ApiSliceStore, code: int, reason: str, meaning: type[errors.ServerError]
) -> None:
    server.answers(Reply(status(code, reason, "no"), status=code))

    with pytest.raises(meaning) as refusal:
        store.replace(SLICE)

    assert type(refusal.value) is meaning


def taken_by(node: str, pool: str = "", driver: str = "tangram.dev") -> dict[str, Any]:
    spec = {"driver": driver, "nodeName": node, "pool": {"name": pool or node}}
    return {**SLICE, "spec": spec}


def listed(*found: dict[str, Any]) -> Reply:
    return Reply({"metadata": {"resourceVersion": "9"}, "items": list(found)})


EXISTS = Reply(status(409, "AlreadyExists", "exists"), status=409)


@pytest.mark.parametrize(
    ("kind", "holder", "said"),
    [
        ("resource_slices", taken_by("node-2"), "driver tangram.dev of node node-2"),
        ("resource_slices", taken_by("node-1", driver="x.example"), "driver x.example of node node-1"),
        ("composite_slices", taken_by("node-2"), "driver tangram.dev of node node-2"),
    ],
)
def test_a_name_that_an_object_of_somebody_else_has_is_told_with_its_owner(
    server: Script, cluster: Cluster, kind: str, holder: dict[str, Any], said: str
) -> None:
    store: ApiSliceStore = getattr(cluster, kind)("tangram.dev", "node-1")
    its_kind = {"apiVersion": "tangram.dev/v1alpha1", "kind": store.kind} if "comp" in kind else {}
    server.answers(EXISTS, listed({**holder, **its_kind}))

    with pytest.raises(errors.NameTaken, match=said) as refusal:
        store.create(SLICE)

    assert refusal.value.name == "node-1-0"
    assert server.requests[1].query["fieldSelector"] == "metadata.name=node-1-0"


@pytest.mark.parametrize("found", [(), (taken_by("node-1"),)], ids=["gone again", "ours"])
def test_a_name_that_a_slice_of_this_node_has_is_a_race(
    server: Script, store: ApiSliceStore, found: tuple[dict[str, Any], ...]
) -> None:
    server.answers(EXISTS, listed(*found))

    with pytest.raises(errors.Outdated):
        store.create(SLICE)


@pytest.mark.parametrize(
    ("kind", "selected"),
    [
        ("resource_slices", "spec.driver=tangram.dev,spec.nodeName=node-1"),
        ("composite_slices", "spec.driver=tangram.dev,spec.pool.name=node-1"),
    ],
)
def test_only_the_slices_of_this_driver_on_this_node_are_watched(
    server: Script, cluster: Cluster, kind: str, selected: str
) -> None:
    server.answers(Reply(status(404, "NotFound", "no such kind"), status=404))
    store: ApiSliceStore = getattr(cluster, kind)("tangram.dev", "node-1")

    with pytest.raises(errors.NotThere):
        next(store.changes(server.over))

    assert server.requests[0].query["fieldSelector"] == selected


def test_the_owner_of_the_slices_is_read_by_name(server: Script, cluster: Cluster) -> None:
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "uid": "n1"}}
    server.answers(Reply(node))

    assert cluster.nodes().uid("node-1") == "n1"
    assert server.said == ["GET /api/v1/nodes/node-1"]


def labelled(version: int, labels: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": "node-1", "uid": "n1", "resourceVersion": str(version), "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def test_the_label_of_the_own_node_is_watched_and_no_other_node(server: Script, cluster: Cluster) -> None:
    first = Reply({"metadata": {"resourceVersion": "5"}, "items": [labelled(5, {OWNER: CONTROLLER})]})
    lines = (
        {"type": "MODIFIED", "object": labelled(6, {OWNER: CONTROLLER, "other": "label"})},
        {"type": "MODIFIED", "object": labelled(7, {"other": "label"})},
    )
    server.answers(first, Stream(lines, then="hang"))
    node = cluster.own_node("node-1")
    assert node.allocator is None

    found = [(message, node.allocator) for message in itertools.islice(node.changes(server.over), 3)]

    assert found == [
        (Heard(is_new=True), CONTROLLER),
        (Heard(is_new=False), CONTROLLER),
        (Heard(is_new=True), ""),
    ]
    assert all(request.query["fieldSelector"] == "metadata.name=node-1" for request in server.requests)


def test_a_node_that_is_not_there_has_nobodys_label(server: Script, cluster: Cluster) -> None:
    server.answers(Reply({"metadata": {"resourceVersion": "5"}, "items": []}), Stream(then="hang"))
    node = cluster.own_node("node-1")

    next(node.changes(server.over))

    assert node.allocator == ""


def of_pool(name: str, version: int, members: str) -> dict[str, Any]:
    metadata = {"name": f"multi-node.{name}", "uid": name, "resourceVersion": str(version)}
    spec = {"driver": "tangram.dev", "pool": {"name": f"multi-node/{name}"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {**metadata, "annotations": {MEMBERS: members}},
        "spec": spec,
    }


def test_the_gpus_that_pools_of_several_nodes_have_of_this_node_are_watched(
    server: Script, cluster: Cluster
) -> None:
    pair = of_pool("a", 5, '{"pair": {"node-1": [0, 1], "node-2": [2]}, "one": {"node-1": [1]}}')
    first = Reply({"metadata": {"resourceVersion": "5"}, "items": [pair, of_pool("wrong", 4, "{")]})
    lines = (
        {"type": "ADDED", "object": of_pool("b", 6, '{"other": {"node-1": [7]}}')},
        {"type": "DELETED", "object": of_pool("a", 7, "{}")},
    )
    server.answers(first, Stream(lines, then="hang"))
    gpus = cluster.gpus_of_pools("tangram.dev", "node-1")
    assert gpus.pools is None

    found = [gpus.pools for _ in itertools.islice(gpus.changes(server.over), 3)]

    assert found == [
        {0: "multi-node/a", 1: "multi-node/a"},
        {0: "multi-node/a", 1: "multi-node/a", 7: "multi-node/b"},
        {7: "multi-node/b"},
    ]
    assert server.requests[0].query["labelSelector"] == POOL_LABEL
    assert server.requests[0].query["fieldSelector"] == "spec.driver=tangram.dev"


def test_without_the_right_to_watch_the_node_that_is_said(server: Script, cluster: Cluster) -> None:
    server.answers(Reply(status(403, "Forbidden", "nodes is forbidden"), status=403))

    with pytest.raises(errors.NotAllowed):
        next(cluster.own_node("node-1").changes(server.over))


def test_an_event_about_a_node_is_one_that_kubectl_describe_finds(server: Script, cluster: Cluster) -> None:
    server.answers(Reply({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}}))
    events = cluster.events_of("node-1")

    events.warn("PartitionsNotPublished", "the API server drops sharedCounters")
    events.close()

    (request,) = server.requests
    assert request.body["regarding"] == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "node-1",
        "uid": "node-1",
    }
    assert (request.body["type"], request.body["reason"]) == ("Warning", "PartitionsNotPublished")


def test_a_refusal_tells_the_fields_that_the_server_names(server: Script, store: ApiSliceStore) -> None:
    fields = ["spec.devices[3].attributes[x].string", "spec.devices[5].name"]
    causes = [{"reason": "FieldValueInvalid", "field": field, "message": "Too long"} for field in fields]
    server.answers(Reply(status(422, "Invalid", "it is wrong", causes=causes), 422))

    with pytest.raises(errors.Refused) as caught:
        store.create(SLICE)

    assert caught.value.fields == tuple(fields)
