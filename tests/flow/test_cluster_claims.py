"""Claims from an API server: read by name, checked by UID; and how it fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claims_cluster import Cluster
from claims_cluster.server import allocated, kubeconfig

from plugin.__main__ import main
from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.api import ClusterClaims
from plugin.claim.record_store import RecordStore
from plugin.kubelet.server import start
from scheduler_core.model.ownership import MEMBERS

HALF = "gpu-0-mig-3g-20gb-4-7"
CLAIM = v1.Claim(namespace="team", name="c", uid="u1")


def test_a_claim_is_read_by_name_over_one_connection(cluster: Cluster) -> None:
    for _ in range(3):
        assert [device for device, _ in cluster.kubelet.devices(CLAIM)] == [HALF]

    assert cluster.server.reads == 3
    assert cluster.server.connections == 1


def test_that_a_claim_is_wanted_is_on_the_disk_before_the_api_server_has_answered(
    site: Any, cluster: Cluster
) -> None:
    seen: list[int] = []

    def until_written() -> None:
        store, give_up_at = RecordStore(site.options.claims_dir), time.monotonic() + 10.0
        while not store.census().records and time.monotonic() < give_up_at:
            time.sleep(0.001)
        seen.extend(len(record.devices) for record in store.census().records)

    cluster.server.thinks = until_written

    assert [device for device, _ in cluster.kubelet.devices(CLAIM)] == [HALF]
    assert seen == [0]


def test_a_key_that_the_parameters_have_twice_is_refused_by_its_field(site: Any, cluster: Cluster) -> None:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "MigConfig"}
    claim = allocated(("tangram.dev", HALF))
    opaque = {"driver": "tangram.dev", "parameters": parameters}
    claim["status"]["allocation"]["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]
    cluster.server.claim = claim

    assert [device for device, _ in cluster.kubelet.devices(CLAIM)] == [HALF]
    cluster.kubelet.undone(CLAIM)
    cluster.server.writes = lambda text: text.replace(
        b'"MigConfig"', b'"MigConfig", "sharing": {}, "sharing": null'
    )
    refused = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "claim team/c: all requests: MigConfig.sharing: is there twice" in refused
    assert site.leftovers() == []


def of_two_nodes(here: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a claim with a device of two nodes, and the slice that says whose GPUs it has."""
    claim = allocated(("tangram.dev", "pair"))
    claim["status"]["allocation"]["devices"]["results"][0]["pool"] = "multi-node/gpus"
    members = f'{{"pair": {{"{here}": [1], "elsewhere": [0]}}}}'
    metadata = {"name": "s", "uid": "s", "resourceVersion": "1", "annotations": {MEMBERS: members}}
    return claim, {
        "metadata": metadata,
        "spec": {"driver": "tangram.dev", "pool": {"name": "multi-node/gpus"}},
    }


def test_the_gpus_of_a_device_of_several_nodes_are_read_from_its_pool(site: Any, cluster: Cluster) -> None:
    cluster.server.claim, slice_ = of_two_nodes("a100x2")
    cluster.server.slices = [slice_]

    assert [device for device, _ in cluster.kubelet.devices(CLAIM)] == ["pair"]

    (path,) = cluster.server.listed
    assert "labelSelector=tangram.dev%2Fmulti-node-pool%3Dgpus" in path
    assert "fieldSelector=spec.driver%3Dtangram.dev" in path
    cluster.server.slices = []
    cluster.kubelet.undone(CLAIM)
    assert site.leftovers() == []


def test_a_pool_that_cannot_be_read_is_named_and_tried_again(site: Any, cluster: Cluster) -> None:
    cluster.server.claim, slice_ = of_two_nodes("a100x2")
    cluster.server.lists = 503

    refused = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "cannot read pool tangram.dev/multi-node/gpus" in refused
    assert "it is retried" in refused
    slice_["metadata"]["annotations"][MEMBERS] = "{"
    cluster.server.lists, cluster.server.slices = 200, [slice_]
    assert "ResourceSlice s: metadata.annotations" in cluster.kubelet.prepare(CLAIM)["u1"].error
    assert site.leftovers() == []


@pytest.mark.parametrize("status", [404, 403, 503])
def test_a_claim_that_cannot_be_read_leaves_nothing_on_the_disk(
    site: Any, cluster: Cluster, status: int
) -> None:
    cluster.server.fails = [status] * 4

    assert cluster.kubelet.prepare(CLAIM)["u1"].error

    assert site.leftovers() == []


def test_results_of_other_drivers_are_passed_over(cluster: Cluster) -> None:
    cluster.server.claim = allocated(("other.example.com", "gpu-0"), ("tangram.dev", HALF))
    mixed = cluster.kubelet.devices(CLAIM)
    cluster.kubelet.undone(CLAIM)
    cluster.server.claim = allocated(("other.example.com", "gpu-0"))

    assert [device for device, _ in mixed] == [HALF]
    assert cluster.kubelet.devices(CLAIM) == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_fails_for_now_is_told_as_something_that_is_retried(
    site: Any, cluster: Cluster, status: int
) -> None:
    cluster.server.fails = [status, status]

    error = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "claim team/c" in error
    assert f"{status}" in error
    assert "it is retried" in error
    assert site.leftovers() == []
    assert cluster.kubelet.devices(CLAIM), "the next call goes through"


def test_a_server_that_is_gone_is_told_as_something_that_is_retried(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    claims = ClusterClaims.connect(kubeconfig(site.folder, "http://127.0.0.1:9"), site.options)
    with start(site.driver(), claims, site.options):
        error = kubelet_of(site).prepare(CLAIM)["u1"].error

    assert "cannot read claim team/c" in error
    assert "it is retried; if it persists, check the API server" in error
    assert site.leftovers() == []


def test_a_server_that_forbids_names_who_acts(cluster: Cluster) -> None:
    cluster.server.fails = [403]

    error = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "403" in error
    assert "an administrator of the cluster must allow it" in error


def test_a_claim_of_another_uid_is_refused(site: Any, cluster: Cluster) -> None:
    cluster.server.claim = allocated(("tangram.dev", HALF), uid="newer")

    error = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "replaced" in error
    assert site.leftovers() == []


def test_a_claim_that_is_gone_is_refused_and_can_be_unprepared(site: Any, cluster: Cluster) -> None:
    cluster.kubelet.devices(CLAIM)
    cluster.server.claim = None

    error = cluster.kubelet.prepare(CLAIM)["u1"].error
    cluster.kubelet.undone(CLAIM)

    assert "the API server has no claim of that name" in error
    assert site.leftovers() == []


def test_a_server_that_does_not_serve_claims_is_named_with_the_version_that_is_needed(
    site: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.server, "answer", lambda *_: (404, {"message": "page not found"}))

    error = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "the API server does not serve resource.k8s.io/v1" in error
    assert "the administrator upgrades the control plane to Kubernetes 1.34 or newer" in error
    assert site.leftovers() == []


def test_without_any_way_to_a_server_the_plugin_says_what_it_looked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    status = main(["--simulated", "a100x2", "--machine", str(folder / "m"), "--kubelet-dir", str(folder)])

    said = capsys.readouterr().err
    assert status == 2
    assert "kubeconfig" in said
    assert not (folder / "m").exists()
