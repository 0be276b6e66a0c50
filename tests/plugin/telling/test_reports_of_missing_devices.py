"""A claim's status says which of its devices are missing, since when, and no longer when they are back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from told_cluster import Cluster

from plugin.claim.record_store import RecordStore
from plugin.telling.reports import Reports
from scheduler_core.model.claim import ClaimRef, ClaimUid

UID, REF = ClaimUid("u1"), ClaimRef("default", "claim-u1")
HALF = "gpu-0-mig-3g-20gb-4-7"
SECOND_1 = "2027-01-15T08:00:01Z"


@pytest.fixture
def missing() -> dict[str, str]:
    return {}


@pytest.fixture
def reports(bench: Any, cluster: Cluster, clock: Any, missing: Mapping[str, str]) -> Reports:
    store = RecordStore(bench.options.claims_dir)
    return Reports(
        store, cluster, cluster, clock, lambda: 1_800_000_000.0 + clock.now, missing=lambda _: missing
    )


def conditions(cluster: Cluster) -> dict[str, Mapping[str, str]]:
    return {device["device"]: device["conditions"][0] for device in cluster.said["u1"]}


def test_a_missing_device_is_not_ready_since_it_was_found_and_the_others_are(
    bench: Any, cluster: Cluster, clock: Any, reports: Reports, deliver: Callable[[], object], missing: Any
) -> None:
    bench.prepare("u1", HALF, "gpu-1")
    clock.now += 1.0
    missing[HALF] = "there is no MIG device MIG-1"
    reports.missing(UID, REF, f"device {HALF}: {missing[HALF]}")
    deliver()

    found = conditions(cluster)

    assert found[HALF] == {
        "type": "Ready",
        "status": "False",
        "reason": "DeviceMissing",
        "message": "there is no MIG device MIG-1",
        "lastTransitionTime": SECOND_1,
    }
    assert found["gpu-1"]["status"] == "True"
    assert cluster.warnings == [("u1", "DeviceMissing", f"device {HALF}: there is no MIG device MIG-1")]


def test_a_status_that_is_written_again_keeps_the_time(
    bench: Any, cluster: Cluster, clock: Any, reports: Reports, deliver: Callable[[], object], missing: Any
) -> None:
    bench.prepare("u1", HALF)
    clock.now += 1.0
    missing[HALF] = "gone"
    for _ in range(2):
        reports.missing(UID, REF, "gone")
        deliver()
        clock.now += 60.0

    assert conditions(cluster)[HALF]["lastTransitionTime"] == SECOND_1


def test_a_device_that_is_back_is_ready_again_and_missing_anew_later(
    bench: Any, cluster: Cluster, clock: Any, reports: Reports, deliver: Callable[[], object], missing: Any
) -> None:
    bench.prepare("u1", HALF)
    missing[HALF] = "gone"
    reports.missing(UID, REF, "gone")
    deliver()
    missing.clear()
    reports.changed(UID, REF)
    deliver()
    back = conditions(cluster)[HALF]["status"]
    clock.now = 1.0
    missing[HALF] = "gone"
    reports.missing(UID, REF, "gone")
    deliver()

    assert back == "True"
    assert conditions(cluster)[HALF]["lastTransitionTime"] == SECOND_1


def test_a_long_reason_is_cut_and_an_unprepared_claim_says_nothing(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Callable[[], object], missing: Any
) -> None:
    bench.prepare("u1", HALF)
    missing[HALF] = "x" * 5000
    reports.missing(UID, REF, "x")
    deliver()
    message = conditions(cluster)[HALF]["message"]
    bench.unprepare("u1")
    reports.changed(UID, REF)
    deliver()

    assert len(message) == 1024
    assert cluster.said["u1"] == []
