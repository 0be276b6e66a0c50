"""Prepare and unprepare of one claim, over a machine that refuses as hardware does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.hardware.simulated.calls import Calls
from agent.hardware.types import Placement
from plugin import claims
from plugin.checkpoint import RecordStore
from plugin.claims import PreparedDevice
from plugin.errors import DeviceHeld, PlacementTaken, UnknownDevice
from plugin.prepare import State
from plugin.records import HeldPartition
from scheduler_core.model.claim import ClaimRef, ClaimUid

SMALL = "gpu-0-mig-1g-5gb-2"
HALF = "gpu-0-mig-3g-20gb-4-7"
KEP_CLAIM = ("gpu-0-mig-1g-5gb-0", "gpu-0-mig-1g-5gb-1", "gpu-0-mig-2g-10gb-2-3", "gpu-0-mig-3g-20gb-4-7")


def test_a_partition_becomes_an_instance_a_record_and_a_cdi_device(bench: Any) -> None:
    answer = bench.prepare("u1", HALF)

    (instance,) = bench.instances()
    (record,) = bench.records()
    document = json.loads(bench.document("u1").read_text())
    cdi_id = f"tangram.dev/claim=u1-{HALF}"
    assert answer == (PreparedDevice(("r",), "a100x2", HALF, (cdi_id,)),)
    assert instance.placement == Placement(4, 4)
    assert record.state is State.COMPLETED
    assert record.devices[0].mig_uuid == instance.compute_instances[0].uuid
    assert [f"{document['kind']}={device['name']}" for device in document["devices"]] == [cdi_id]


def test_the_document_has_the_nodes_of_driver_gpu_and_instance(bench: Any) -> None:
    bench.prepare("u1", HALF)

    (record,) = bench.records()
    held = record.devices[0]
    edits = json.loads(bench.document("u1").read_text())["devices"][0]["containerEdits"]
    paths = [node["path"] for node in edits["deviceNodes"]]
    capabilities = bench.machine.files.instance_nodes(0, held.gi_id, held.ci_id)
    assert {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"} <= set(paths)
    assert paths[-2:] == [node.path for node in capabilities]
    assert edits["env"] == [f"TANGRAM_DEVICE_GPU_0_MIG_3G_20GB_4_7={held.mig_uuid}"]
    assert "/usr/lib/x86_64-linux-gnu/libcuda.so.1" in {mount["containerPath"] for mount in edits["mounts"]}


def test_four_partitions_of_one_claim_lie_on_one_gpu(bench: Any) -> None:
    answer = bench.prepare("u1", *KEP_CLAIM)

    assert tuple(device.device for device in answer) == KEP_CLAIM
    assert len(bench.instances()) == 4


def test_unprepare_leaves_nothing_and_the_mode_as_before(bench: Any) -> None:
    bench.prepare("u1", *KEP_CLAIM)

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_prepare_twice_equals_once(bench: Any) -> None:
    first = bench.prepare("u1", HALF, SMALL)
    before = (bench.instances(), bench.records(), bench.document("u1").stat().st_mtime_ns)

    second = bench.prepare("u1", HALF, SMALL)

    assert second == first
    assert (bench.instances(), bench.records(), bench.document("u1").stat().st_mtime_ns) == before


def test_unprepare_of_an_unknown_claim_is_a_success(bench: Any) -> None:
    bench.unprepare("never-seen")
    bench.prepare("u1", HALF)
    bench.unprepare("u1")
    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_claim_without_devices_of_ours_needs_nothing(bench: Any, claim_of: Callable[..., Any]) -> None:
    assert bench.driver.prepare(claim_of("u1", "another-node", ["gpu-0"])) == ()
    assert bench.leftovers() == []


def test_a_whole_gpu_is_given_with_its_own_node_and_mig_mode_off(bench: Any) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(1), enabled=True)

    bench.prepare("u1", "gpu-1")

    edits = json.loads(bench.document("u1").read_text())["devices"][0]["containerEdits"]
    assert not bench.is_in_mig_mode(1)
    assert edits["env"] == [f"TANGRAM_DEVICE_GPU_1={bench.uuid(1)}"]
    assert "/dev/nvidia1" in {node["path"] for node in edits["deviceNodes"]}
    assert not any("nvidia-cap" in node["path"] for node in edits["deviceNodes"])


def test_the_mode_stays_on_until_the_last_claim_of_a_gpu_is_gone(bench: Any) -> None:
    bench.prepare("u1", SMALL)
    bench.prepare("u2", HALF)

    bench.unprepare("u1")
    stays_on = bench.is_in_mig_mode()
    bench.unprepare("u2")

    assert stays_on
    assert not bench.is_in_mig_mode()


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (HALF, HALF),
        (HALF, "gpu-0"),
        ("gpu-0", HALF),
        ("gpu-0-mig-4g-20gb-0-3", SMALL),
        (SMALL, "gpu-0-mig-7g-40gb-0-7"),
    ],
)
def test_an_overlap_is_refused_naming_the_holder_and_changes_nothing(
    bench: Any, held: str, wanted: str
) -> None:
    bench.prepare("u1", held)
    before = (bench.instances(), bench.records())

    with pytest.raises(DeviceHeld, match=r"default/claim-u1 \(completed\)") as refusal:
        bench.prepare("u2", wanted)

    assert refusal.value.claim_uid == "u2"
    assert refusal.value.retry
    assert (bench.instances(), bench.records()) == before
    assert not bench.document("u2").exists()


def test_a_started_claim_holds_its_devices_too(bench: Any) -> None:
    bench.inject("gpu-0:create-compute-instance:in-use", "gpu-0:destroy-gpu-instance:in-use")
    with pytest.raises(Exception, match="in-use"):
        bench.prepare("u1", HALF)

    with pytest.raises(DeviceHeld, match=r"default/claim-u1 \(undoing\)"):
        bench.prepare("u2", HALF)


def test_somebody_elses_instance_in_the_place_is_refused_by_name_and_left_alone(bench: Any) -> None:
    gpus = bench.simulated.gpus
    gpus.set_mig_mode(bench.uuid(0), enabled=True)
    wanted = HeldPartition(
        requests=(), pool="", device="", cdi_id="", parent_uuid=bench.uuid(0), profile_id=9, start=4, size=4
    )
    gi_id = gpus.create_gpu_instance(wanted.spec)

    with pytest.raises(PlacementTaken, match=rf"GI {gi_id} \(memory slices 4-7, without a CI\)"):
        bench.prepare("u1", HALF)
    with pytest.raises(PlacementTaken, match=rf"GPU 0 .* whole: it is cut into GI {gi_id}"):
        bench.prepare("u2", "gpu-0")

    assert [instance.gi_id for instance in bench.instances()] == [gi_id]
    assert bench.records() == ()


def test_a_document_that_vanished_is_written_again(bench: Any) -> None:
    first = bench.prepare("u1", HALF)
    content = bench.document("u1").read_bytes()
    bench.document("u1").unlink()

    second = bench.prepare("u1", HALF)

    assert second == first
    assert bench.document("u1").read_bytes() == content


def test_an_instance_that_somebody_destroyed_is_made_again_and_its_siblings_are_not_touched(
    bench: Any,
) -> None:
    first = bench.prepare("u1", HALF, SMALL)
    (record,) = bench.records()
    half, small = record.devices
    gpus = bench.simulated.gpus
    gpus.destroy_compute_instance(half.gpu, half.gi_id, half.ci_id)
    gpus.destroy_gpu_instance(half.gpu, half.gi_id)

    second = bench.prepare("u1", HALF, SMALL)

    (record,) = bench.records()
    assert second == first
    assert record.devices[1] == small
    assert record.devices[0].mig_uuid != half.mig_uuid
    assert str(record.devices[0].mig_uuid) in bench.document("u1").read_text()
    assert len(bench.instances()) == 2


def test_a_claim_that_was_allocated_anew_gives_up_its_old_devices_first(bench: Any) -> None:
    bench.prepare("u1", HALF)

    answer = bench.prepare("u1", SMALL)

    assert [device.device for device in answer] == [SMALL]
    assert [instance.placement for instance in bench.instances()] == [Placement(2, 1)]


def test_a_device_that_came_after_the_start_is_found(bench: Any) -> None:
    bench.inject("gpu-1:lost")
    bench.restart()
    with pytest.raises(UnknownDevice, match="gpu-1"):
        bench.prepare("u1", "gpu-1")

    bench.simulated.reset_gpu(bench.uuid(1))

    assert bench.prepare("u1", "gpu-1")


def test_after_a_reboot_the_claim_is_prepared_afresh(bench: Any) -> None:
    first = bench.prepare("u1", HALF)
    (before,) = bench.records()
    boot_id = bench.simulated.reboot()

    second = bench.prepare("u1", HALF)

    (after,) = bench.records()
    assert second == first
    assert after.boot_id == boot_id
    assert after.devices[0].mig_uuid != before.devices[0].mig_uuid
    assert len(bench.instances()) == 1


def test_after_a_reboot_unprepare_cleans_what_is_left(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.simulated.reboot()

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_claim_of_an_earlier_boot_holds_nothing(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.simulated.reboot()

    assert bench.prepare("u2", "gpu-0")


@pytest.mark.parametrize("node", ["a100x2", "hgx-h100", "a30x4"])
def test_every_partition_that_is_published_can_be_made_and_undone(
    bench_of: Callable[..., Any], node: str
) -> None:
    bench = bench_of(node)
    names = [name for name in bench.names() if name.startswith("gpu-0")]

    for number, name in enumerate(names):
        assert bench.prepare(f"u{number}", name)
        bench.unprepare(f"u{number}")

    assert len(names) > 5
    assert bench.leftovers() == []


def test_a_gpu_without_mig_is_given_whole(bench_of: Callable[..., Any]) -> None:
    bench = bench_of("l40s")

    bench.prepare("u1", "gpu-2")
    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_that_a_claim_is_coming_is_durable_before_the_hardware_is_touched(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    fsync, change = os.fsync, Calls.change

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        happened.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def changed(calls: Calls, *call: Any) -> Any:
        happened.append("hardware")
        return change(calls, *call)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Calls, "change", changed)
    bench.prepare("u1", HALF)

    assert happened[:3] == ["u1.json", "claims", "hardware"]


def test_a_claim_that_is_begun_and_not_prepared_leaves_nothing(bench: Any) -> None:
    uid, ref = ClaimUid("u1"), ClaimRef("default", "claim-u1")

    with bench.driver.begun(uid, ref):
        (record,) = bench.records()
    with pytest.raises(UnknownDevice), bench.driver.begun(uid, ref) as begun:
        begun.prepare(bench.claim("u1", "gpu-9"))

    assert (record.state, record.devices) == (State.STARTED, ())
    assert bench.leftovers() == []


def test_a_process_that_dies_before_it_knows_the_devices_leaves_a_claim_that_can_be_prepared(
    bench: Any,
) -> None:
    wanted = claims.wanted(
        ClaimUid("u1"), ClaimRef("default", "claim-u1"), "tangram.dev", bench.machine.boot.boot_id()
    )
    RecordStore(bench.options.claims_dir).save(wanted)

    assert bench.prepare("u1", HALF)

    RecordStore(bench.options.claims_dir).save(msgspec.structs.replace(wanted, claim_uid="u2"))
    bench.restart()
    assert [record.uid for record in bench.records()] == ["u1"]
