"""A claim that could not be prepared says so once, with the reason, until it is prepared or gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from told_cluster import Cluster

from plugin.base.errors import ClaimUnusable, DeviceHeld, PluginError
from plugin.claim.quarantine.evidence import Evidence
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.telling.reports import Reports
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId

HALF = "gpu-0-mig-3g-20gb-4-7"
UID, REF = ClaimUid("u1"), ClaimRef("default", "claim-u1")
OURS = (AllocatedDevice("r", DeviceId("tangram.dev", "a100x2", HALF)),)
Deliver = Callable[[], float | None]
HELD = DeviceHeld("prepare", "claim default/claim-u1", "claim default/other holds it")


def test_a_failed_claim_becomes_a_warning_with_our_sentence(cluster: Cluster, reports: Reports) -> None:
    error = ClaimUnusable("prepare", "claim default/claim-u1", "it is odd", "the user mends it")

    reports.failed(UID, REF, "prepare", error)
    reports.failed(UID, REF, "unprepare", error)

    assert cluster.warnings == [("u1", "PrepareFailed", str(error)), ("u1", "UnprepareFailed", str(error))]


def test_a_claim_that_could_not_be_prepared_is_told_as_not_ready_with_the_reason(
    cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    reports.failed(UID, REF, "prepare", HELD, OURS)

    deliver()

    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "PrepareFailed",
        "message": str(HELD),
        "lastTransitionTime": "2027-01-15T08:00:00Z",
    }
    named = {"driver": "tangram.dev", "pool": "a100x2", "device": HALF}
    assert cluster.said == {"u1": [{**named, "conditions": [condition]}]}


def test_a_failure_that_repeats_is_written_once(
    cluster: Cluster, reports: Reports, deliver: Deliver, clock: Any
) -> None:
    for _ in range(3):
        reports.failed(UID, REF, "prepare", HELD, OURS)
        deliver()
        clock.now += 60

    assert cluster.attempts == 1


def test_another_reason_is_told_and_the_time_since_when_it_fails_stays(
    cluster: Cluster, reports: Reports, deliver: Deliver, clock: Any
) -> None:
    reports.failed(UID, REF, "prepare", HELD, OURS)
    deliver()
    (before,) = cluster.said["u1"][0]["conditions"]
    clock.now += 60

    reports.failed(UID, REF, "prepare", ClaimUnusable("prepare", "claim default/claim-u1", "odd"), OURS)
    deliver()

    (after,) = cluster.said["u1"][0]["conditions"]
    assert after == {**before, "message": "cannot prepare claim default/claim-u1: odd"}


def test_once_it_is_prepared_a_claim_says_nothing_of_the_failure_before(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    reports.failed(UID, REF, "prepare", HELD, OURS)
    deliver()
    bench.prepare("u1", HALF)

    reports.changed(UID, REF)
    deliver()

    (device,) = cluster.said["u1"]
    assert [(one["status"], one["reason"]) for one in device["conditions"]] == [("True", "Prepared")]


def test_a_failed_claim_that_is_unprepared_says_nothing(
    cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    reports.failed(UID, REF, "prepare", HELD, OURS)
    deliver()

    reports.changed(UID, REF)
    deliver()

    assert cluster.said == {"u1": []}


def test_a_device_that_an_allocation_names_twice_is_told_once_and_shares_by_their_ids(
    cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    share = replace(OURS[0], share_id="7d1e6c3a-0000-4000-8000-000000000000")

    reports.failed(UID, REF, "prepare", HELD, (*OURS, *OURS, share))
    deliver()

    assert [device.get("shareID") for device in cluster.said["u1"]] == [None, share.share_id]


def test_a_long_message_is_cut(cluster: Cluster, reports: Reports, deliver: Deliver) -> None:
    reports.failed(UID, REF, "prepare", PluginError("prepare", "x", "y" * 5000), OURS)

    deliver()

    message = cluster.said["u1"][0]["conditions"][0]["message"]
    assert len(message) == 1024
    assert message.endswith("y...")


def test_a_failure_that_could_not_be_written_is_written_when_it_repeats(
    cluster: Cluster, reports: Reports, deliver: Deliver, clock: Any
) -> None:
    cluster.failures = 6
    reports.failed(UID, REF, "prepare", HELD, OURS)
    while (wait_s := deliver()) is not None:
        clock.now += wait_s

    reports.failed(UID, REF, "prepare", HELD, OURS)
    deliver()

    assert cluster.said["u1"]


def test_failures_of_more_than_a_thousand_claims_are_not_remembered(
    cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    for number in range(1025):
        reports.failed(ClaimUid(f"u{number}"), ClaimRef("default", f"c{number}"), "prepare", HELD, OURS)
        deliver()

    reports.failed(ClaimUid("u1"), ClaimRef("default", "c1"), "prepare", HELD, OURS)
    reports.failed(ClaimUid("u0"), ClaimRef("default", "c0"), "prepare", HELD, OURS)
    deliver()

    assert cluster.attempts == 1026


def test_a_claim_in_quarantine_is_told_on_the_claim_or_on_the_node_where_its_name_is_unknown(
    reports: Reports, cluster: Cluster
) -> None:
    known = Quarantined(uid=ClaimUid("u1"), why="line 2", known=Evidence(ref=ClaimRef("default", "train")))

    reports.kept(known)
    reports.kept(Quarantined(uid=ClaimUid("u2"), why="it cannot be read: Input/output error"))

    (uid, reason, text), (node, _, of_node) = cluster.warnings
    assert (uid, reason, node) == ("u1", "RecordUnusable", "")
    assert "line 2; its devices stay reserved" in text
    assert "claim u2: it cannot be read: Input/output error" in of_node
    assert "tangram plugin release u2" in of_node
