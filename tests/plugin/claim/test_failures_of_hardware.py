"""What must hold when the hardware fails or refuses: named, one by one."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from agent.hardware import attributes
from agent.hardware.types import Placement
from plugin.base.errors import GpuBusy, HardwareFailed, ModeBlocked, NotReady, PluginError
from plugin.cdi.folder import CdiFolder

HALF = "gpu-0-mig-3g-20gb-4-7"


@pytest.mark.parametrize("call", ["create-gpu-instance", "create-compute-instance", "set-mig-mode"])
@pytest.mark.parametrize("error", ["hardware-fault", "timed-out", "insufficient-resources", "no-permission"])
def test_a_prepare_that_fails_leaves_nothing_and_succeeds_when_it_is_repeated(
    bench: Any, call: str, error: str
) -> None:
    bench.inject(f"gpu-0:{call}:{error}:1")

    with pytest.raises(PluginError, match=r"cannot .* injected") as refusal:
        bench.prepare("u1", HALF)

    assert refusal.value.claim_uid == "u1"
    assert bench.leftovers() == []
    assert bench.prepare("u1", HALF)


def test_a_driver_that_could_not_be_read_once_refuses_no_claim(bench: Any) -> None:
    bench.inject("machine:versions:hardware-fault:1")

    assert bench.prepare("u1", HALF)


@pytest.mark.parametrize("error", ["hardware-fault", "timed-out", "insufficient-resources", "no-permission"])
def test_a_driver_that_cannot_be_read_is_read_again_before_a_claim_is_refused(bench: Any, error: str) -> None:
    bench.inject(f"machine:versions:{error}:2")

    with pytest.raises(
        NotReady, match=r"no such device among those that can be read: GPUs: .* injected"
    ) as refusal:
        bench.prepare("u1", HALF)

    assert refusal.value.claim_uid == "u1"
    assert bench.leftovers() == []
    assert bench.prepare("u1", HALF)


def test_where_the_second_of_two_mig_partitions_fails_the_first_is_destroyed(bench: Any) -> None:
    bench.prepare("u0", "gpu-0-mig-1g-5gb-0")
    bench.inject("gpu-1:create-compute-instance:hardware-fault:1")

    with pytest.raises(HardwareFailed):
        bench.prepare("u1", HALF, "gpu-1-mig-1g-5gb-2")

    assert [instance.placement for instance in bench.instances()] == [Placement(0, 1)]
    assert bench.instances(1) == ()
    assert [record.claim_uid for record in bench.records()] == ["u0"]


def test_a_gi_without_its_ci_goes_at_once_and_one_that_cannot_go_goes_later(bench: Any) -> None:
    bench.inject("gpu-0:create-compute-instance:hardware-fault:1", "gpu-0:destroy-gpu-instance:in-use:2")

    with pytest.raises(HardwareFailed, match="create compute instance"):
        bench.prepare("u1", HALF)
    stuck = bench.instances()
    bench.unprepare("u1")

    assert len(stuck) == 1
    assert stuck[0].compute_instances == ()
    assert bench.leftovers() == []


def test_a_lost_gpu_fails_its_own_claims_naming_the_operator_and_nobody_elses(bench: Any) -> None:
    bench.driver.reconcile()
    bench.inject("gpu-0:lost")

    with pytest.raises(HardwareFailed, match="operator must drain the node and reset or replace") as refusal:
        bench.prepare("u1", HALF)

    assert not refusal.value.retry
    assert bench.prepare("u2", "gpu-1")


def test_a_gpu_that_is_lost_between_two_steps_is_cleaned_when_it_is_back(bench: Any) -> None:
    bench.inject("gpu-0:create-compute-instance:gpu-lost:1", "gpu-0:destroy-gpu-instance:gpu-lost:2")
    with pytest.raises(HardwareFailed):
        bench.prepare("u1", HALF)

    answer = bench.prepare("u1", HALF)

    assert [device.device for device in answer] == [HALF]
    assert len(bench.instances()) == 1


def test_a_mig_partition_in_use_stays_prepared_for_undoing_until_it_is_free(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:destroy-compute-instance:in-use:1")

    with pytest.raises(HardwareFailed, match="find the process that uses it") as refusal:
        bench.unprepare("u1")
    half_way = (len(bench.instances()), [record.state for record in bench.records()])
    bench.unprepare("u1")

    assert refusal.value.retry
    assert half_way == (1, ["undoing"])
    assert bench.leftovers() == []


def test_a_half_destroyed_instance_is_finished_by_the_next_call(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:destroy-gpu-instance:in-use:1")
    with pytest.raises(HardwareFailed):
        bench.unprepare("u1")

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_an_instance_with_our_ids_and_another_uuid_is_not_ours_to_destroy(bench: Any) -> None:
    bench.prepare("u1", HALF)
    (held,) = bench.records()[0].devices
    gpus = bench.simulated.gpus
    gpus.destroy_compute_instance(held.gpu, held.gi_id, held.ci_id)
    gpus.destroy_gpu_instance(held.gpu, held.gi_id)
    assert gpus.create_gpu_instance(held.spec) == held.gi_id
    gpus.create_compute_instance(held.gpu, held.gi_id)

    with pytest.raises(PluginError, match=r"exists, and no claim of this driver created it"):
        bench.prepare("u1", HALF)
    bench.unprepare("u1")

    assert len(bench.instances()) == 1
    assert bench.records() == ()


def test_a_gpu_in_use_refuses_the_mode_and_keeps_no_change_pending(bench: Any) -> None:
    bench.inject("gpu-0:in-use")

    with pytest.raises(GpuBusy, match=r"GPU 0 .*in use.*; it is retried; stop what uses the GPU") as refusal:
        bench.prepare("u1", HALF)

    assert refusal.value.retry
    assert bench.leftovers() == []
    assert not bench.is_in_mig_mode()


@pytest.fixture
def passed_through(bench_of: Callable[..., Any]) -> Any:
    """Two GPUs whose mode only the operator can change: GPU 0 is in MIG mode, GPU 1 is not."""
    bench = bench_of("a100x2-passthrough")
    for minor in (0, 1):
        bench.simulated.gpus.set_mig_mode(bench.uuid(minor), enabled=minor == 0)
        bench.simulated.reset_gpu(bench.uuid(minor))
    return bench


@pytest.mark.parametrize("device", ["gpu-0", "gpu-1-mig-3g-20gb-4-7"])
def test_a_change_that_waits_for_a_reset_names_the_operator(passed_through: Any, device: str) -> None:
    with pytest.raises(ModeBlocked, match="the operator changes the mode and resets the GPU") as refusal:
        passed_through.prepare("u1", device)

    assert not refusal.value.retry
    assert [passed_through.is_in_mig_mode(minor) for minor in (0, 1)] == [True, False]
    assert passed_through.records() == ()


def test_on_a_passed_through_gpu_the_mode_that_the_operator_set_is_used_and_kept(passed_through: Any) -> None:
    passed_through.prepare("u1", HALF)
    passed_through.prepare("u2", "gpu-1")

    passed_through.unprepare("u1")
    passed_through.unprepare("u2")

    assert [passed_through.is_in_mig_mode(minor) for minor in (0, 1)] == [True, False]
    assert passed_through.records() == ()


def test_a_mode_that_cannot_go_off_again_is_logged_and_hurts_nobody(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:in-use")

    with caplog.at_level(logging.WARNING):
        bench.unprepare("u1")

    assert bench.records() == ()
    assert bench.is_in_mig_mode()
    assert "stays in MIG mode" in caplog.text


def test_a_missing_device_node_is_found_before_the_container_finds_it(bench: Any) -> None:
    (bench.simulated.root / "dev/nvidia0").unlink()

    with pytest.raises(HardwareFailed, match=r"/dev/nvidia0.*operator"):
        bench.prepare("u1", HALF)

    assert bench.leftovers() == []


@pytest.mark.parametrize("part", ["gi", "ci"])
def test_a_mig_partition_is_not_given_with_a_part_of_its_nodes(
    bench: Any, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """A specification with one of three nodes, and no error (k8s-dra-driver-gpu #787)."""
    read = attributes.text
    ends = {"gi": r"/gi\d+/access", "ci": r"/ci\d+/access"}[part]
    monkeypatch.setattr(attributes, "text", lambda file: None if re.search(ends, str(file)) else read(file))

    with pytest.raises(HardwareFailed, match=rf"DeviceFileMinor on capability \S+{ends}"):
        bench.prepare("u1", HALF)

    monkeypatch.undo()
    assert bench.leftovers() == []
    assert bench.prepare("u1", HALF)


def test_a_dead_instance_is_found_before_the_answer(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure = CdiFolder.ensure

    def destroyed_meanwhile(folder: Any, uid: Any, document: Any) -> None:
        ensure(folder, uid, document)
        gpus = bench.simulated.gpus
        (instance,) = bench.instances()
        gpus.destroy_compute_instance(instance.parent, instance.gi_id, 0)

    monkeypatch.setattr(CdiFolder, "ensure", destroyed_meanwhile)

    with pytest.raises(NotReady, match=f"{HALF}: there is no MIG device MIG-"):
        bench.prepare("u1", HALF)

    assert bench.leftovers() == []


def test_where_the_module_for_unified_memory_is_not_loaded_a_claim_is_refused_and_leaves_nothing(
    bench: Any,
) -> None:
    root = bench.simulated.root
    for node in ("nvidia-uvm", "nvidia-uvm-tools"):
        (root / "dev" / node).unlink()
    devices = root / "proc/devices"
    devices.write_text(devices.read_text().replace("510 nvidia-uvm\n", ""))

    with pytest.raises(HardwareFailed, match=r"/dev/nvidia-uvm.*must load the driver's module nvidia-uvm"):
        bench.prepare("u1", HALF)

    assert bench.leftovers() == []
