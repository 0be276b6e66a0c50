"""What the cluster is told of claims: the last state wins, and it comes after the kubelet's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from told_cluster import Cluster

from plugin.telling.reports import Reports
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"
UID, REF = ClaimUid("u1"), ClaimRef("default", "claim-u1")
Deliver = Callable[[], float | None]


def test_a_mig_partition_is_told_with_its_uuid_its_parent_and_its_place(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    (prepared,) = bench.prepare("u1", HALF)

    reports.changed(UID, REF)
    deliver()

    (device,) = cluster.said["u1"]
    (instance,) = bench.instances()
    assert (device["driver"], device["pool"], device["device"]) == ("tangram.dev", "a100x2", HALF)
    assert device["data"] == {
        "pciBusID": "0000:07:00.0",
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


def test_what_waits_at_the_end_is_told_once_more(bench: Any, cluster: Cluster, reports: Reports) -> None:
    bench.prepare("u1", HALF)
    reports.begin()
    reports.changed(UID, REF)

    reports.close()

    assert cluster.said["u1"]
