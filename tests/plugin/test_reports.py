"""What the cluster is told of claims: the last state wins, later if need be, and never for ever."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from plugin.checkpoint import RecordStore
from plugin.errors import ClaimUnusable, DeviceHeld, PluginError, ReportFailed
from plugin.ports import ClaimEvents, ClaimWriter
from plugin.reports import Reports
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId

HALF = "gpu-0-mig-3g-20gb-4-7"
UID, REF = ClaimUid("u1"), ClaimRef("default", "claim-u1")
NOW_S = 1_800_000_000.0
OURS = (AllocatedDevice("r", DeviceId("tangram.dev", "a100x2", HALF)),)
Deliver = Callable[[], float | None]
HELD = DeviceHeld("prepare", "claim default/claim-u1", "claim default/other holds it")


@dataclass
class Cluster(ClaimWriter, ClaimEvents):
    """An API server in memory, which fails as often as it is told."""

    said: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    warnings: list[tuple[str, str, str]] = field(default_factory=list)
    failures: int = 0
    is_retriable: bool = True
    attempts: int = 0

    def set_devices(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> None:
        self.attempts += 1
        if self.failures:
            self.failures -= 1
            raise ReportFailed("write", f"claim {ref}", "no", "wait", retry=self.is_retriable)
        self.said[uid] = list(devices)

    def warn(self, ref: ClaimRef, uid: ClaimUid, reason: str, message: str) -> None:
        self.warnings.append((uid, reason, message))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def reports(bench: Any, cluster: Cluster, clock: Any) -> Reports:
    return Reports(RecordStore(bench.options.claims_dir), cluster, cluster, clock, lambda: NOW_S + clock.now)


@pytest.fixture
def deliver(reports: Reports, clock: Any) -> Deliver:
    """Let the time pass that a change waits, then write."""

    def run() -> float | None:
        clock.now += 0.5
        return reports.deliver()

    return run


def test_a_partition_is_told_with_its_uuid_its_parent_and_its_place(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    (prepared,) = bench.prepare("u1", HALF)

    reports.changed(UID, REF)
    deliver()

    (device,) = cluster.said["u1"]
    (instance,) = bench.instances()
    assert (device["driver"], device["pool"], device["device"]) == ("tangram.dev", "a100x2", HALF)
    assert device["data"] == {
        "cdiDeviceIDs": list(prepared.cdi_ids),
        "uuid": instance.compute_instances[0].uuid,
        "parentUUID": bench.uuid(0),
        "placement": {"start": 4, "size": 4},
    }
    (ready,) = device["conditions"]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "Prepared")


def test_a_whole_gpu_is_told_with_its_uuid(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", "gpu-1")

    reports.changed(UID, REF)
    deliver()

    assert cluster.said["u1"][0]["data"]["uuid"] == bench.uuid(1)


def test_what_is_told_is_the_state_at_the_time_of_telling(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    reports.changed(UID, REF)
    bench.unprepare("u1")

    deliver()

    assert cluster.said == {"u1": []}


def test_a_change_is_not_told_before_the_kubelet_has_its_answer(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    reports.changed(UID, REF)

    wait_s = reports.deliver()
    assert (wait_s, cluster.attempts) == (0.5, 0)

    deliver()
    assert cluster.attempts == 1


def test_telling_twice_says_the_same(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    reports.changed(UID, REF)
    deliver()
    first = cluster.said.pop("u1")

    bench.restart()
    bench.prepare("u1", HALF)
    reports.all_again()
    deliver()

    assert cluster.said["u1"] == first


def test_what_a_reboot_ended_is_not_told_any_more(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    bench.simulated.reboot()

    reports.all_again()
    bench.restart()
    deliver()

    assert cluster.said == {"u1": []}


def test_a_failure_is_tried_again_later_and_later(
    bench: Any, cluster: Cluster, reports: Reports, clock: Any
) -> None:
    bench.prepare("u1", HALF)
    cluster.failures = 3
    reports.changed(UID, REF)

    waits = []
    while (wait_s := reports.deliver()) is not None:
        waits.append(wait_s)
        clock.now += wait_s

    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert cluster.said["u1"]


def test_a_failure_that_stays_is_given_up(
    bench: Any, cluster: Cluster, reports: Reports, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    cluster.failures = 1000
    reports.changed(UID, REF)

    with caplog.at_level(logging.WARNING):
        while (wait_s := reports.deliver()) is not None:
            clock.now += wait_s

    assert cluster.attempts == 6
    assert caplog.text.count("cannot write claim default/claim-u1: no; wait") == 1


def test_what_cannot_be_mended_by_waiting_is_given_up_at_once(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    cluster.failures, cluster.is_retriable = 1, False
    reports.changed(UID, REF)

    assert deliver() is None
    assert cluster.attempts == 1


def test_a_claim_that_fails_keeps_no_other_waiting(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    bench.prepare("u2", "gpu-1")
    cluster.failures = 1
    for uid in ("u1", "u2"):
        reports.changed(ClaimUid(uid), ClaimRef("default", f"claim-{uid}"))

    deliver()

    assert list(cluster.said) == ["u2"]


def test_no_more_than_a_thousand_wait(
    cluster: Cluster, reports: Reports, deliver: Deliver, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1030):
        reports.changed(ClaimUid(f"u{number}"), ClaimRef("default", f"c{number}"))

    deliver()

    assert len(cluster.said) == 1024
    assert "u0" not in cluster.said
    assert caplog.text.count("too many wait") == 6


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


def test_what_waits_at_the_end_is_told_once_more(bench: Any, cluster: Cluster, reports: Reports) -> None:
    bench.prepare("u1", HALF)
    reports.begin()
    reports.changed(UID, REF)

    reports.close()

    assert cluster.said["u1"]
