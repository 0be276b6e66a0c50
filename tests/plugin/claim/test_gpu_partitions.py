"""GPUs that links join, prepared as one device: all of them whole, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.types import MigSpec
from agent.inventory.model import LinkedGpus
from plugin.base.errors import (
    DeviceHeld,
    HardwareFailed,
    LockTimeout,
    ModeBlocked,
    PlacementTaken,
    PluginError,
    UnknownDevice,
)
from plugin.base.locks import Locks
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.kinds.health import Health
from plugin.telling.status import device_statuses
from scheduler_core.frontends.partitions.table import table_of

PAIR = "gpus-0-1"
SMALL = "gpu-1-mig-1g-5gb-2"


@pytest.fixture
def bench(linked_bench: Any) -> Any:
    return linked_bench


def edits_of(bench: Any, uid: str) -> Any:
    (device,) = json.loads(bench.document(uid).read_text())["devices"]
    return device["containerEdits"]


def cut(bench: Any, minor: int) -> None:
    """Make an instance that no claim knows of."""
    gpus, uuid = bench.simulated.gpus, bench.uuid(minor)
    gpus.set_mig_mode(uuid, enabled=True)
    profile = next(one for one in gpus.profiles(uuid) if one.name == "1g.5gb")
    gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, profile.placements[0]))


def test_a_partition_becomes_one_cdi_device_with_the_nodes_of_all_its_gpus(bench: Any) -> None:
    (prepared,) = bench.prepare("u1", PAIR)

    edits = edits_of(bench, "u1")
    shared = json.loads(bench.document("u1").read_text())["containerEdits"]
    paths = [node["path"] for each in (shared, edits) for node in each["deviceNodes"]]
    assert prepared.cdi_ids == (f"tangram.dev/claim=u1-{PAIR}",)
    assert {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1"} <= set(paths)
    assert len(set(paths)) == len(paths)
    assert edits["env"] == [f"TANGRAM_DEVICE_GPUS_0_1={bench.uuid(0)},{bench.uuid(1)}"]
    assert not any("nvidia-cap" in path for path in paths)


def test_every_member_is_made_whole(bench: Any) -> None:
    for minor in (0, 1):
        bench.simulated.gpus.set_mig_mode(bench.uuid(minor), enabled=True)

    bench.prepare("u1", PAIR)

    assert not bench.is_in_mig_mode(0)
    assert not bench.is_in_mig_mode(1)


def test_unprepare_leaves_nothing_and_frees_every_member(bench: Any) -> None:
    bench.prepare("u1", PAIR)

    bench.unprepare("u1")

    assert bench.leftovers() == []
    bench.prepare("u2", "gpu-0")
    bench.prepare("u3", SMALL)


def test_prepare_twice_equals_once_also_after_a_restart(bench: Any) -> None:
    first = bench.prepare("u1", PAIR)
    document = bench.document("u1").read_bytes()
    bench.document("u1").unlink()
    bench.restart()

    assert bench.prepare("u1", PAIR) == first

    assert bench.document("u1").read_bytes() == document


@pytest.mark.parametrize("other", ["gpu-0", "gpu-1", SMALL])
def test_a_partition_and_whatever_has_a_member_refuse_each_other(bench: Any, other: str) -> None:
    bench.prepare("u1", PAIR)
    with pytest.raises(DeviceHeld, match=rf"device {other} for claim default/claim-u2: .*claim-u1"):
        bench.prepare("u2", other)
    bench.unprepare("u1")
    bench.prepare("u2", other)

    with pytest.raises(DeviceHeld, match=rf"device {PAIR} for claim default/claim-u1: .*claim-u2"):
        bench.prepare("u1", PAIR)

    assert [record.claim_uid for record in bench.records()] == ["u2"]


def test_a_member_that_is_cut_is_refused_before_any_member_is_touched(bench: Any) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(0), enabled=True)
    cut(bench, 1)

    with pytest.raises(PlacementTaken, match=r"GPU 1 \(GPU-.*\) whole: it is cut into GI"):
        bench.prepare("u1", PAIR)

    assert bench.records() == ()
    assert not bench.document("u1").exists()
    assert len(bench.instances(1)) == 1


def test_a_member_whose_mode_cannot_change_is_refused_and_nothing_stays(bench: Any) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(1), enabled=True)
    bench.inject("gpu-1:set-mig-mode:in-use:2")

    with pytest.raises(PluginError, match="GPU 1") as refusal:
        bench.prepare("u1", PAIR)

    assert refusal.value.retry
    assert bench.records() == ()
    assert not bench.document("u1").exists()
    assert [one.device for one in bench.prepare("u1", PAIR)] == [PAIR]


def test_a_member_that_only_the_operator_gets_out_of_mig_mode_is_refused(
    folder: Path, linked_bench_in: Callable[..., Any]
) -> None:
    bench = linked_bench_in(folder, node="a100x2-passthrough")
    bench.simulated.gpus.set_mig_mode(bench.uuid(1), enabled=True)
    bench.simulated.reboot()
    bench.restart()

    with pytest.raises(ModeBlocked, match=r"GPU 1 .*the operator changes the mode") as refusal:
        bench.prepare("u1", PAIR)

    assert not refusal.value.retry
    assert bench.records() == ()
    assert not bench.document("u1").exists()


def test_a_member_that_is_lost_is_refused_and_nothing_stays(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.unprepare("u1")
    bench.inject("gpu-1:lost")

    with pytest.raises(HardwareFailed, match=r"prepare claim default/claim-u2: .*fell off the bus"):
        bench.prepare("u2", PAIR)

    assert bench.records() == ()
    assert not bench.document("u2").exists()


def test_after_a_restart_the_refusal_says_which_member_is_not_there(bench: Any) -> None:
    bench.inject("gpu-1:lost")
    bench.restart()

    with pytest.raises(UnknownDevice, match=rf"{PAIR} of claim default/claim-u1: {PAIR}: GPU 1 is missing"):
        bench.prepare("u1", PAIR)


def test_a_claim_whose_partition_lost_a_member_is_undone_all_the_same(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.inject("gpu-1:lost")
    bench.restart()

    bench.unprepare("u1")

    assert bench.records() == ()
    assert not bench.document("u1").exists()


def test_what_is_left_of_a_held_partition_stays_held(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.inject("gpu-1:lost")
    bench.restart()

    with pytest.raises(DeviceHeld, match="claim-u1"):
        bench.prepare("u2", "gpu-0")


def test_a_claim_of_another_table_keeps_its_gpus(
    bench: Any, folder: Path, linked_bench_in: Callable[..., Any]
) -> None:
    bench.prepare("u1", PAIR)
    without = linked_bench_in(folder, None)

    with pytest.raises(DeviceHeld, match="claim-u1"):
        without.prepare("u2", "gpu-0")
    without.unprepare("u1")

    assert [one.device for one in without.prepare("u2", "gpu-0")] == ["gpu-0"]


def test_a_single_gpu_that_is_held_keeps_out_a_table_that_no_longer_offers_it(
    bench: Any, folder: Path, linked_bench_in: Callable[..., Any]
) -> None:
    bench.prepare("u1", "gpu-0")
    table = table_of("table", {"2": [{"minors": [0, 1], "allocationScore": 1}]})
    honoring = linked_bench_in(folder, LinkedGpus(table, is_honored=True))

    with pytest.raises(DeviceHeld, match="claim-u1"):
        honoring.prepare("u2", PAIR)


def test_a_crash_in_between_is_undone_at_the_start(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    (record,) = bench.records()
    RecordStore(bench.options.claims_dir).note(record.in_state(State.STARTED))
    bench.document("u1").unlink()  # it is written when all is set up

    bench.restart()

    assert bench.leftovers() == []


def test_after_a_reboot_the_claim_is_forgotten(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.simulated.reboot()

    bench.restart()

    assert bench.leftovers() == []


@pytest.mark.parametrize("minor", [0, 1])
def test_a_partition_waits_for_the_lock_of_every_member(bench: Any, minor: int) -> None:
    locks = Locks(path=bench.options.lock_file, wait_s=1, clock=bench.clock, sleep=bench.clock.sleep)
    with (
        locks.hold(f"gpu-{bench.uuid(minor)}", "GPU", "test"),
        pytest.raises(LockTimeout, match=rf"GPU {minor} \(.*another process"),
    ):
        bench.prepare("u1", PAIR)

    assert bench.records() == ()


def test_a_partition_is_ill_when_one_member_is_and_says_which(bench: Any) -> None:
    bench.driver.health.read()
    bench.inject("gpu-1:lost")

    report = {entry.device: entry for entry in bench.driver.health.read()}

    assert report[PAIR].health is Health.UNHEALTHY
    assert "fell off the bus" in report[PAIR].message
    assert report["gpu-0"].health is Health.HEALTHY


def test_the_claims_status_names_all_gpus(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    (record,) = bench.records()

    (status,) = device_statuses(record, 0.0)

    assert status["device"] == PAIR
    assert status["data"]["uuids"] == [bench.uuid(0), bench.uuid(1)]


def test_only_records_of_partitions_need_a_newer_plugin(bench: Any) -> None:
    def last_version(uid: str) -> int:
        *_, line = (bench.options.claims_dir / f"{uid}.json").read_text().splitlines()
        return int(json.loads(line)["version"])

    bench.prepare("u1", PAIR)
    with_partition = last_version("u1")
    bench.unprepare("u1")
    bench.prepare("u2", "gpu-0", SMALL)

    assert with_partition == 2
    assert last_version("u2") == 1
