"""A destroyed MIG instance is noticed by what the kernel shows; the driver is asked only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Event, Thread
from typing import Any

import pynvml
import pytest
from fake_nvml import FakeLibrary
from told_cluster import Cluster

from agent.hardware.nvml import Nvml
from plugin.assembly import assemble
from plugin.claim.reconciling.quick_looks import QuickLooks
from plugin.claim.record_store import RecordStore
from plugin.kinds.health import Health
from plugin.telling.reports import Reports
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF, SMALL, OTHER = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2", "gpu-1-mig-3g-20gb-4-7"
Look = Callable[[], None]


@pytest.fixture(params=["the simulated driver", "NVML"])
def driven(request: pytest.FixtureRequest, bench: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The bench with its GPUs behind each adapter."""
    if request.param != "NVML":
        yield bench
        return
    monkeypatch.setattr(pynvml, "nvmlLib", FakeLibrary(bench.simulated.gpus))
    pynvml._nvmlGetFunctionPointer_cache.clear()
    with Nvml.open() as nvml:
        machine = replace(bench.machine, gpus=nvml)
        bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)
        yield bench
    pynvml._nvmlGetFunctionPointer_cache.clear()


@dataclass
class Asked:
    """What a look at one claim does, and the claims that were looked at."""

    look_at: Callable[[ClaimUid], bool]
    claims: list[str] = field(default_factory=list)
    hastened: int = 0

    def __call__(self, uid: ClaimUid) -> bool:
        self.claims.append(uid)
        return self.look_at(uid)

    def hasten(self) -> None:
        self.hastened += 1


@pytest.fixture
def asked(bench: Any, heard: Any) -> Asked:
    return Asked(lambda uid: bool(bench.driver.looks(heard).look_at(uid)))


@pytest.fixture
def quick_look(bench: Any, asked: Asked) -> Look:
    looks: list[QuickLooks] = []

    def look() -> None:
        if not looks:
            store = RecordStore(bench.options.claims_dir)
            node, files = bench.driver.policy.node, bench.machine.files
            looks.append(QuickLooks(store, node, files, asked, asked.hasten))
        looks[0].look()

    return look


def destroy(bench: Any, device_uid: str) -> None:
    """Somebody destroys the instances of a claim."""
    (record,) = (one for one in bench.records() if one.claim_uid == device_uid)
    for device in record.devices:
        bench.simulated.gpus.destroy_compute_instance(device.gpu, device.gi_id, device.ci_id)
        bench.simulated.gpus.destroy_gpu_instance(device.gpu, device.gi_id)


def named(uid: str) -> tuple[ClaimUid, ClaimRef]:
    return ClaimUid(uid), ClaimRef("default", f"claim-{uid}")


def ill(bench: Any) -> list[str]:
    return [one.device for one in bench.driver.health.read() if one.health is Health.UNHEALTHY]


def test_of_two_claims_on_one_gpu_only_the_one_whose_instance_is_gone_is_told(
    driven: Any, heard: Any, asked: Asked, quick_look: Look
) -> None:
    driven.prepare("u1", HALF)
    driven.prepare("u2", SMALL)
    destroy(driven, "u1")

    quick_look()

    assert [entry[:2] for entry in heard.said] == [("missing", "u1")]
    assert asked.claims == ["u1"]
    assert ill(driven) == [HALF]


def test_the_claims_status_says_it_and_the_other_claim_stays_ready(
    driven: Any, cluster: Cluster, clock: Any, deliver: Callable[[], object]
) -> None:
    reports = _reports(driven, cluster, clock)
    driven.prepare("u1", HALF)
    driven.prepare("u2", SMALL)
    destroy(driven, "u1")

    driven.driver.quick_looks(driven.driver.looks(reports)).look()
    reports.changed(*named("u2"))
    clock.now += 0.5
    reports.deliver()

    (gone,), (well,) = (one["conditions"] for uid in ("u1", "u2") for one in cluster.said[uid])
    assert (gone["status"], gone["reason"]) == ("False", "DeviceMissing")
    assert (well["status"], well["reason"]) == ("True", "Prepared")


def test_a_stream_reads_anew_as_soon_as_it_is_told(bench: Any, quick_look: Look) -> None:
    bench.prepare("u1", HALF)
    destroy(bench, "u1")
    before = bench.driver.health.news()

    quick_look()

    assert bench.driver.health.news() != before


def test_the_driver_is_asked_once_for_what_stays_away_and_everything_is_looked_at_soon(
    bench: Any, asked: Asked, quick_look: Look
) -> None:
    bench.prepare("u1", HALF)
    destroy(bench, "u1")

    for _ in range(3):
        quick_look()

    assert asked.claims == ["u1"]
    assert asked.hastened == 1


def test_while_all_instances_are_there_the_driver_is_not_asked(
    bench: Any, asked: Asked, quick_look: Look
) -> None:
    bench.prepare("u1", HALF, "gpu-1")

    quick_look()

    assert asked.claims == []


def test_one_that_was_made_again_and_is_destroyed_again_is_told_again(
    bench: Any, heard: Any, quick_look: Look
) -> None:
    for _ in range(2):
        bench.prepare("u1", HALF)
        quick_look()
        destroy(bench, "u1")
        quick_look()

    assert [what for what, *_ in heard.said] == ["missing", "missing"]


def test_a_second_device_of_a_claim_that_goes_later_is_told_too(
    bench: Any, heard: Any, quick_look: Look
) -> None:
    bench.prepare("u1", HALF, OTHER)
    (record,) = bench.records()
    for device in record.devices:
        bench.simulated.gpus.destroy_compute_instance(device.gpu, device.gi_id, device.ci_id)
        quick_look()

    assert [why.count("there is no MIG device") for _, _, why in heard.said] == [1, 2]


def test_a_claim_that_a_call_works_on_is_looked_at_when_the_call_is_over(
    bench: Any, heard: Any, asked: Asked, quick_look: Look
) -> None:
    bench.prepare("u1", HALF)
    destroy(bench, "u1")

    with bench.driver.opened(*named("u1")):
        quick_look()
        assert heard.said == []
    quick_look()

    assert [what for what, *_ in heard.said] == ["missing"]
    assert asked.claims == ["u1", "u1"]
    assert bench.clock.slept == []


def test_a_claim_that_is_undone_meanwhile_is_not_told(
    bench: Any, heard: Any, monkeypatch: pytest.MonkeyPatch, quick_look: Look
) -> None:
    bench.prepare("u1", HALF)
    bench.prepare("u2", SMALL)
    destroying, goes_on = Event(), Event()
    remove = RecordStore.remove

    def held_up(store: RecordStore, uid: ClaimUid) -> None:
        destroying.set()
        assert goes_on.wait(10.0)
        remove(store, uid)

    monkeypatch.setattr(RecordStore, "remove", held_up)
    undoing = Thread(target=bench.unprepare, args=("u1",))
    undoing.start()
    assert destroying.wait(10.0)
    quick_look()
    goes_on.set()
    undoing.join(10.0)
    quick_look()

    assert heard.said == []
    assert ill(bench) == []


def test_a_sign_that_is_wrong_is_told_to_nobody_and_checked_once(
    bench: Any, heard: Any, asked: Asked, quick_look: Look
) -> None:
    bench.prepare("u1", HALF)
    capabilities = bench.simulated.root / "proc/driver/nvidia/capabilities"
    capabilities.rename(capabilities.with_name("hidden"))

    quick_look()
    quick_look()

    assert heard.said == []
    assert asked.claims == ["u1"]


def test_where_the_driver_does_not_answer_the_next_look_at_everything_is_hastened(
    bench: Any, heard: Any, asked: Asked, quick_look: Look
) -> None:
    bench.prepare("u1", HALF)
    destroy(bench, "u1")
    bench.inject("gpu-0:gpu-instances:timed-out")

    quick_look()
    quick_look()

    assert heard.said == []
    assert (asked.claims, asked.hastened) == (["u1"], 1)


def test_whole_gpus_and_nics_give_no_sign(bench: Any, asked: Asked, quick_look: Look) -> None:
    bench.prepare("u1", "gpu-1")
    bench.inject("gpu-1:lost")

    quick_look()

    assert asked.claims == []


def test_of_two_claims_in_one_gpu_instance_only_the_one_whose_compute_instance_is_gone_is_told(
    split_bench: Any,
) -> None:
    split_bench.prepare("u1", "gpu-0-mig-1c-3g-20gb-4-7-ci-0")
    split_bench.prepare("u2", "gpu-0-mig-1c-3g-20gb-4-7-ci-1")
    (record,) = (found for found in split_bench.records() if found.claim_uid == "u1")
    (device,) = record.devices
    split_bench.simulated.gpus.destroy_compute_instance(device.gpu, device.gi_id, device.ci_id)
    asked = Asked(lambda _: False)
    node, store = split_bench.driver.policy.node, RecordStore(split_bench.options.claims_dir)

    QuickLooks(store, node, split_bench.machine.files, asked, asked.hasten).look()

    assert asked.claims == ["u1"]


def _reports(bench: Any, cluster: Cluster, clock: Any) -> Reports:
    store = RecordStore(bench.options.claims_dir)
    return Reports(store, cluster, cluster, clock, lambda: 1e9, missing=bench.driver.sight.missing.of)
