"""Claims in an API server are told of: in their status in our name, and by events; and how it fails."""

from __future__ import annotations

from typing import Any

import pytest
from claims_cluster import Cluster, reports_of
from claims_cluster.server import allocated

from plugin._pb.dra_v1 import api_pb2 as v1

HALF = "gpu-0-mig-3g-20gb-4-7"
CLAIM = v1.Claim(namespace="team", name="c", uid="u1")
PATH = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims/c"


def test_a_prepared_claim_says_so_in_its_status_in_our_name_until_it_is_undone(cluster: Cluster) -> None:
    ((_, cdi_id),) = cluster.kubelet.devices(CLAIM)
    cluster.deliver()
    cluster.kubelet.undone(CLAIM)
    cluster.deliver()

    (path, said), (_, unsaid) = cluster.server.applied
    (device,) = said["status"]["devices"]
    assert path.startswith(f"{PATH}/status?")
    assert "fieldManager=tangram.dev%2Fplugin%2Fa100x2&" in f"{path}&"  # each node has its own
    assert said["metadata"]["uid"] == "u1"
    assert (device["driver"], device["pool"], device["device"]) == ("tangram.dev", "a100x2", HALF)
    assert device["data"]["cdiDeviceIDs"] == [cdi_id]
    assert device["data"]["uuid"].startswith("MIG-")
    assert unsaid["status"]["devices"] == []


def test_a_status_that_cannot_be_written_fails_no_claim_and_is_written_later(cluster: Cluster) -> None:
    assert cluster.kubelet.devices(CLAIM)
    cluster.server.fails = [500, 500]

    wait_s = cluster.deliver()

    assert cluster.server.applied == []
    assert wait_s == 1.0


def test_a_status_that_may_not_be_written_is_given_up_with_a_word_to_the_administrator(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.kubelet.devices(CLAIM)
    cluster.server.fails = [403]

    assert cluster.deliver() is None
    assert "cannot write the devices of claim team/c in its status" in caplog.text
    assert "an administrator" in caplog.text


def test_a_claim_that_was_let_go_meanwhile_is_told_of_no_more_and_alarms_nobody(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.kubelet.devices(CLAIM)
    cluster.server.claim = {**allocated(), "status": {}}
    cluster.server.fails = [422]

    assert cluster.deliver() is None
    assert "its status" not in caplog.text


def test_a_status_that_the_server_finds_wrong_is_told_while_the_claim_has_its_devices(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.kubelet.devices(CLAIM)
    cluster.server.fails = [422]

    assert cluster.deliver() is None
    assert "cannot write the devices of claim team/c in its status: the server says no" in caplog.text


def with_statuses(cluster: Cluster) -> list[dict[str, str]]:
    """Have the claim's status say something of another driver's device, and of ours as it was before."""
    claim = allocated(("tangram.dev", HALF))
    others = [
        {"driver": "other.example.com", "pool": "a100x2", "device": "x"},
        {"driver": "tangram.dev", "pool": "another-node", "device": HALF},
    ]
    ours = {"driver": "tangram.dev", "pool": "a100x2", "device": HALF}
    claim["metadata"]["resourceVersion"] = "7"
    claim["status"]["devices"] = [ours, *others]
    cluster.server.claim = claim
    return others


def test_where_an_api_server_sorts_the_parameters_the_status_is_merged_into_what_was_read(
    cluster: Cluster,
) -> None:
    cluster.kubelet.devices(CLAIM)
    others = with_statuses(cluster)
    cluster.server.sorts_keys = True

    assert cluster.deliver() is None

    ((_, said),) = cluster.server.applied
    *kept, ours = said["status"]["devices"]
    assert kept == others
    assert (ours["pool"], ours["conditions"][0]["reason"]) == ("a100x2", "Prepared")
    assert said["metadata"] == {"resourceVersion": "7"}
    assert said["status"].keys() == {"devices"}


def test_what_was_merged_is_removed_when_the_claim_ends(cluster: Cluster) -> None:
    cluster.kubelet.devices(CLAIM)
    cluster.deliver()
    others = with_statuses(cluster)
    cluster.kubelet.undone(CLAIM)

    assert cluster.deliver() is None

    _, (_, applied), (_, merged) = cluster.server.applied
    assert applied["status"]["devices"] == []
    assert merged["status"]["devices"] == others


def test_a_claim_that_changes_under_a_merge_is_read_again_later(cluster: Cluster) -> None:
    cluster.kubelet.devices(CLAIM)
    with_statuses(cluster)
    cluster.server.sorts_keys = True
    cluster.server.conflicts = 1

    assert cluster.deliver() == 1.0
    cluster.clock.now += 1.0
    assert cluster.reports.deliver() is None

    assert len(cluster.server.applied) == 1


def test_a_restarted_plugin_says_again_what_is_prepared(site: Any, cluster: Cluster) -> None:
    cluster.kubelet.devices(CLAIM)
    cluster.deliver()
    again = reports_of(site, cluster.claims, cluster.clock)

    again.all_again()
    cluster.deliver(again)

    first, second = cluster.server.applied
    assert first == second


def test_a_failure_becomes_an_event_on_the_claim(cluster: Cluster) -> None:
    cluster.server.claim = allocated(("tangram.dev", "gpu-9"))

    error = cluster.kubelet.prepare(CLAIM)["u1"].error
    cluster.claims.events.close()

    (event,) = cluster.server.events
    assert (event["type"], event["reason"]) == ("Warning", "PrepareFailed")
    assert event["regarding"]["uid"] == "u1"
    assert event["note"] in error


def test_what_is_wrong_with_the_node_becomes_an_event_on_it(cluster: Cluster) -> None:
    cluster.claims.warn_of_node("VfsNotAsAsked", "NIC 0000:3b:00.0 does not have the 8 VFs")
    cluster.claims.events.close()

    (event,) = cluster.server.events
    assert (event["type"], event["reason"]) == ("Warning", "VfsNotAsAsked")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Node", "a100x2")
    assert event["note"] == "NIC 0000:3b:00.0 does not have the 8 VFs"


def conditions(body: Any) -> list[tuple[str, str, str]]:
    """Return which devices a status tells of, whether they are ready, and why."""
    return [
        (device["device"], condition["status"], condition["reason"])
        for device in body["status"]["devices"]
        for condition in device["conditions"]
    ]


def test_a_claim_that_cannot_be_prepared_says_why_in_its_status_until_it_can(cluster: Cluster) -> None:
    cluster.server.claim = allocated(("tangram.dev", "gpu-9"), ("other.example.com", "x"))
    error = cluster.kubelet.prepare(CLAIM)["u1"].error
    cluster.deliver()
    reads = cluster.server.reads
    cluster.server.claim = allocated(("tangram.dev", HALF))
    cluster.kubelet.devices(CLAIM)

    cluster.deliver()

    (_, said), (_, mended) = cluster.server.applied
    assert conditions(said) == [("gpu-9", "False", "PrepareFailed")]
    assert said["status"]["devices"][0]["conditions"][0]["message"] == error
    assert conditions(mended) == [(HALF, "True", "Prepared")]
    assert reads == 1


def test_a_claim_that_was_never_prepared_says_nothing_any_more_once_it_is_unprepared(
    site: Any, cluster: Cluster
) -> None:
    cluster.server.claim = allocated(("tangram.dev", "gpu-9"))
    cluster.kubelet.prepare(CLAIM)
    cluster.deliver()

    cluster.kubelet.undone(CLAIM)
    cluster.deliver()

    assert [conditions(body) for _, body in cluster.server.applied][1:] == [[]]
    assert site.leftovers() == []
