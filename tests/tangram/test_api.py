"""What the command asks of an API server, over a real socket. Every failure is a user's to solve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_api import Reply, Script, Stream, serving, status, write_kubeconfig

from tangram.api import ChangedCluster, connect, open_live
from tangram.errors import BadInput

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "uid": "n1"}}


@pytest.fixture
def server() -> Iterator[Script]:
    yield from serving(Script())


@pytest.fixture
def kubeconfig(server: Script, tmp_path: Path) -> Path:
    host, port = server.server_address[:2]
    return write_kubeconfig(tmp_path / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"})


@pytest.fixture
def live(kubeconfig: Path) -> ChangedCluster:
    return open_live(kubeconfig, None)


def test_objects_are_listed_by_kind_and_field(server: Script, kubeconfig: Path) -> None:
    server.answers(Reply({"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": [NODE]}))

    (found,) = connect(kubeconfig, None).list("Node", "metadata.name=node-1")

    assert found["metadata"] == NODE["metadata"]
    assert server.requests[0].query["fieldSelector"] == "metadata.name=node-1"


def test_one_object_is_read_by_kind_name_and_namespace(server: Script, kubeconfig: Path) -> None:
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
    server.answers(Reply(claim))

    assert connect(kubeconfig, None).get("ResourceClaim", "c", "team") == claim
    assert server.said == ["GET /apis/resource.k8s.io/v1/namespaces/team/resourceclaims/c"]


def test_a_missing_kubeconfig_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        connect(tmp_path / "missing", None)


def test_what_the_server_refuses_is_wrong_input(server: Script, kubeconfig: Path) -> None:
    server.answers(Reply(status(403, "Forbidden", "not you"), status=403))

    with pytest.raises(BadInput, match="not you"):
        connect(kubeconfig, None).get("Node", "node-1", "")


def test_deleting_what_does_not_exist_is_no_failure(server: Script, live: ChangedCluster) -> None:
    server.answers(Reply(status(404, "NotFound", "gone"), status=404))

    live.delete("Pod", "p", "team")

    assert server.said == ["DELETE /api/v1/namespaces/team/pods/p"]


def test_each_change_is_a_name_with_its_document_and_a_deleted_object_has_none(
    server: Script, live: ChangedCluster
) -> None:
    pods = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "5"}, "items": []}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "resourceVersion": "6"}}
    gone = {**pod, "metadata": {"name": "p", "resourceVersion": "7"}}
    events = ({"type": "ADDED", "object": pod}, {"type": "DELETED", "object": gone})
    server.answers(Reply(pods), Stream(events, then="hang"))

    changes = live.changes("Pod", server.over, namespace="team")

    assert [next(changes), next(changes)] == [("p", pod), ("p", None)]
