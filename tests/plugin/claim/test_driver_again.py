"""A claim that is prepared again after the machine, its allocation or the boot has changed meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from agent.hardware.types import Placement
from plugin.base.errors import UnknownDevice
from plugin.claim.record_store import RecordStore

SMALL = "gpu-0-mig-1g-5gb-2"
HALF = "gpu-0-mig-3g-20gb-4-7"


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


def test_a_record_of_an_earlier_version_is_kept_and_learns_what_containers_are_told_now(bench: Any) -> None:
    bench.prepare("u1", HALF)
    (record,) = bench.records()
    known = [msgspec.structs.replace(device, pci_addresses=msgspec.UNSET) for device in record.devices]
    RecordStore(bench.options.claims_dir).save(record.with_devices(known))
    before = bench.instances()
    claim = bench.claim("u1", HALF, request="r/half")

    bench.driver.prepare(replace(claim, pod_claim_name="mine"))

    (learnt,) = bench.records()
    assert bench.instances() == before
    assert learnt.devices[0].pci_addresses == record.devices[0].pci_addresses
    assert learnt.devices[0].alternative == "half"
    assert learnt.pod_claim_name == "mine"
