"""A claim that was made again under its name is another claim: nothing of the old one is written into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_api import Clock, Reply, Script, serving, status, write_kubeconfig

from kube_api import EventWriter, KubeApi
from plugin.api import ClusterClaims
from plugin.base.errors import ReportFailed
from scheduler_core.model.claim import ClaimRef, ClaimUid

REF = ClaimRef("default", "train")
OURS = {"driver": "tangram.dev", "pool": "n", "device": "gpu-0"}
ALLOCATED = {"allocation": {"devices": {"results": [OURS]}}}
CAUSE = {"reason": "FieldValueInvalid", "field": "metadata.uid", "message": "field is immutable"}
REFUSED = Reply(status(422, "Invalid", "it is wrong", causes=[CAUSE]), 422)


@pytest.fixture
def server() -> Iterator[Script]:
    yield from serving(Script())


@pytest.fixture
def claims(server: Script, tmp_path: Path) -> Iterator[ClusterClaims]:
    host, port = server.server_address[:2]
    file = write_kubeconfig(tmp_path / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"})
    api = KubeApi.connect(file, None, user_agent="test")
    yield ClusterClaims(api, EventWriter(api, "test", Clock()), "tangram.dev/plugin/n", "n", "tangram.dev")
    api.close()


def claim(uid: str) -> Reply:
    metadata = {"name": "train", "namespace": "default", "uid": uid, "resourceVersion": "7"}
    return Reply(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": {},
            "status": ALLOCATED,
        }
    )


def test_a_server_that_answers_422_on_the_uid_of_a_claim_made_again_is_no_failure(
    server: Script, claims: ClusterClaims
) -> None:
    server.answers(REFUSED, claim("u2"))

    claims.set_devices(REF, ClaimUid("u1"), [OURS])

    assert [request.method for request in server.requests] == ["PATCH", "GET"]


def test_a_refusal_for_the_claim_itself_is_a_failure(server: Script, claims: ClusterClaims) -> None:
    server.answers(REFUSED, claim("u1"))

    with pytest.raises(ReportFailed):
        claims.set_devices(REF, ClaimUid("u1"), [OURS])
