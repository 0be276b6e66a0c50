"""A device that somebody else destroyed is noticed and told, and told to be back when it is prepared anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from told_cluster import Cluster

from plugin.claim.record_store import RecordStore
from plugin.kinds.health import Health
from plugin.telling.reports import Reports
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF, OTHER, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-1-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2"
Look = Callable[[], bool]


def destroy(bench: Any, minor: int = 0) -> None:
    """Somebody destroys all instances of a GPU."""
    gpus = bench.simulated.gpus
    for instance in bench.instances(minor):
        for compute in instance.compute_instances:
            gpus.destroy_compute_instance(instance.parent, instance.gi_id, compute.ci_id)
        gpus.destroy_gpu_instance(instance.parent, instance.gi_id)


def named(uid: str) -> tuple[ClaimUid, ClaimRef]:
    return ClaimUid(uid), ClaimRef("default", f"claim-{uid}")


def ready(device: Any) -> Any:
    (condition,) = device["conditions"]
    return condition


def ill(bench: Any) -> dict[str, str]:
    report = bench.driver.health.read()
    return {entry.device: entry.message for entry in report if entry.health is Health.UNHEALTHY}


def test_an_instance_that_somebody_destroyed_is_noticed_and_its_claim_told(
    bench: Any, heard: Any, look: Look
) -> None:
    bench.prepare("u1", HALF, "gpu-1")
    look()
    destroy(bench)

    look()

    ((what, uid, why),) = heard.said
    assert (what, uid) == ("missing", "u1")
    assert f"device {HALF}: cannot use device {HALF}: there is no MIG device MIG-" in why
    assert "gpu-1" not in why


def test_the_health_stream_says_that_it_is_unhealthy_and_its_neighbours_are_well(
    bench: Any, look: Look
) -> None:
    bench.prepare("u1", HALF)
    bench.prepare("u2", OTHER)
    destroy(bench)

    look()

    assert list(ill(bench)) == [HALF]
    assert "there is no MIG device" in ill(bench)[HALF]


def test_the_claims_status_says_that_it_is_not_ready_and_why(
    bench: Any, cluster: Cluster, clock: Any, reports: Reports, deliver: Callable[[], object]
) -> None:
    bench.prepare("u1", HALF, OTHER)
    destroy(bench)

    bench.driver.looks(reports).look()
    deliver()

    lost, well = (ready(device) for device in cluster.said["u1"])
    assert (lost["status"], lost["reason"]) == ("False", "DeviceMissing")
    assert "there is no MIG device" in lost["message"]
    assert (well["status"], well["reason"]) == ("True", "Prepared")
    assert [(uid, reason) for uid, reason, _ in cluster.warnings] == [("u1", "DeviceMissing")]


def test_it_is_healed_when_the_kubelet_prepares_it_anew(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Callable[[], object]
) -> None:
    bench.prepare("u1", HALF)
    destroy(bench)
    bench.driver.looks(reports).look()

    bench.prepare("u1", HALF)
    reports.changed(*named("u1"))
    deliver()

    assert ill(bench) == {}
    assert ready(cluster.said["u1"][0])["status"] == "True"


def test_what_stays_missing_is_told_once_and_again_when_another_process_brought_it_back(
    bench: Any, heard: Any, look: Look
) -> None:
    bench.prepare("u1", HALF)
    destroy(bench)
    for _ in range(3):
        look()
    told = [what for what, *_ in heard.said]

    bench.another_driver().prepare(bench.claim("u1", HALF))
    look()

    assert told == ["missing"]
    assert heard.said[1:] == [("changed", "u1")]
    assert ill(bench) == {}


def test_after_it_was_told_the_next_look_comes_soon(bench: Any, look: Look) -> None:
    bench.prepare("u1", HALF)
    destroy(bench)

    assert [look(), look()] == [False, True]


@pytest.fixture
def reports(bench: Any, cluster: Cluster, clock: Any) -> Reports:
    """What the cluster is to be told, also of what is missing."""
    store = RecordStore(bench.options.claims_dir)
    return Reports(store, cluster, cluster, clock, lambda: 1e9, missing=bench.driver.sight.missing.of)


@pytest.mark.parametrize("device", [HALF, "gpu-0"])
def test_a_lost_gpu_is_told_of_partitions_and_whole_gpus(
    bench: Any, heard: Any, look: Look, device: str
) -> None:
    bench.prepare("u1", device)
    bench.inject("gpu-0:lost")

    look()

    assert [entry[:2] for entry in heard.said] == [("missing", "u1")]
    assert "fell off the bus" in heard.said[0][2]


def test_what_cannot_be_read_now_is_not_called_missing(
    bench: Any, heard: Any, look: Look, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:gpu-instances:timed-out")

    look()
    look()

    assert heard.said == []
    lines = [line for line in caplog.messages if "whether its devices are there is unknown" in line]
    assert len(lines) == 1, "it is logged once"


def test_an_unprepared_claim_has_nothing_missing(bench: Any, look: Look) -> None:
    bench.prepare("u1", HALF)
    destroy(bench)
    look()

    bench.unprepare("u1")

    assert ill(bench) == {}
    assert bench.leftovers() == []


def test_a_device_that_a_claim_only_looks_at_is_not_ill_when_its_owner_ended(
    bench: Any, heard: Any, look: Look
) -> None:
    bench.prepare("owner", HALF)
    bench.look_at("u1", HALF)
    bench.unprepare("owner")

    look()

    assert [entry[:2] for entry in heard.said] == [("missing", "u1")]
    assert ill(bench) == {}


def test_a_claim_that_a_call_works_on_is_left_to_the_next_look(bench: Any, heard: Any, look: Look) -> None:
    bench.prepare("u1", HALF)
    destroy(bench)

    with bench.driver.opened(*named("u1")):
        look()
        assert heard.said == []
    look()

    assert [what for what, *_ in heard.said] == ["missing"]
    assert bench.clock.slept == []
