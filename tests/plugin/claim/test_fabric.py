"""GPUs whose links are joined on request: the partition of a claim is active as long as the claim has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.fabric.types import FabricMode
from agent.inventory.model import LinkedGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from plugin.base.errors import (
    DeviceHeld,
    HardwareFailed,
    NotReady,
    PlacementTaken,
    PluginError,
    UnknownDevice,
)
from plugin.claim.reconciling.repairs import ReportForeign
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from scheduler_core.frontends.partitions.table import table_of

PAIR, PAIR_ID = "gpus-0-1", 5
"""The GPUs 0 and 1 are the modules 5 and 7."""
QUAD, QUAD_ID = "gpus-0-1-2-3", 2
SINGLE, SINGLE_ID = "gpu-0", 11
SMALL = "gpu-0-mig-1g-10gb-0"
BOTH = pytest.mark.parametrize(("device", "partition"), [(PAIR, PAIR_ID), (SINGLE, SINGLE_ID)])


@pytest.fixture
def bench(fabric_bench: Any) -> Any:
    return fabric_bench


def active(bench: Any) -> list[int]:
    return [one.id for one in bench.simulated.fabric.partitions() if one.is_active]


def recorded_version(bench: Any, uid: str) -> int:
    *_, line = (bench.options.claims_dir / f"{uid}.json").read_text().splitlines()
    return int(json.loads(line)["version"])


@BOTH
def test_the_partition_is_active_before_the_answer_and_not_after_the_claim(
    bench: Any, device: str, partition: int
) -> None:
    (prepared,) = bench.prepare("u1", device)

    assert prepared.device == device
    assert active(bench) == [partition]

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_the_partition_is_recorded_before_it_is_activated(bench: Any) -> None:
    bench.inject("machine:activate-partition:hardware-fault:1", "machine:deactivate-partition:timed-out:1")

    with pytest.raises(HardwareFailed):
        bench.prepare("u1", PAIR)

    (record,) = bench.records()
    assert record.devices[0].fabric_partition == PAIR_ID


def test_gpus_are_whole_before_they_are_joined(bench: Any) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(1), enabled=True)
    bench.inject("machine:activate-partition:hardware-fault:1")

    with pytest.raises(HardwareFailed):
        bench.prepare("u1", PAIR)

    assert not bench.is_in_mig_mode(1)


def test_prepare_twice_equals_once_also_after_a_restart(bench: Any) -> None:
    first = bench.prepare("u1", PAIR)
    bench.restart()

    assert bench.prepare("u1", PAIR) == first

    assert active(bench) == [PAIR_ID]
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_claims_of_other_gpus_have_their_partitions_at_once(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.prepare("u2", "gpu-2", "gpu-3")

    assert active(bench) == [PAIR_ID, 12, 14]

    bench.unprepare("u1")
    assert active(bench) == [12, 14]


def test_a_mig_partition_needs_no_links(bench: Any) -> None:
    bench.prepare("u1", SMALL)

    assert active(bench) == []
    assert isinstance(bench.records()[0].devices[0], ClaimedMigPartition)
    with pytest.raises(DeviceHeld):
        bench.prepare("u2", PAIR)


def test_with_admin_access_nothing_is_joined_or_parted(bench: Any) -> None:
    bench.look_at("u1", SINGLE)
    assert active(bench) == []
    bench.prepare("u2", PAIR)

    bench.unprepare("u1")

    assert active(bench) == [PAIR_ID]


@pytest.mark.parametrize("theirs", [PAIR_ID, QUAD_ID, SINGLE_ID])
def test_a_partition_that_somebody_else_activated_is_refused_and_stays(bench: Any, theirs: int) -> None:
    bench.simulated.fabric.activate(theirs)

    with pytest.raises(PlacementTaken, match=rf"partition {theirs} \(.*active; the operator, or the program"):
        bench.prepare("u1", PAIR)

    assert active(bench) == [theirs]
    assert bench.records() == ()


def test_who_is_faster_after_the_check_keeps_the_partition(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fabric = bench.simulated.fabric
    activate = type(fabric).activate

    def beaten(self: Any, partition: int) -> None:
        activate(self, SINGLE_ID)
        activate(self, partition)

    monkeypatch.setattr(type(fabric), "activate", beaten)

    with pytest.raises(PlacementTaken, match=f"fabric partition {PAIR_ID} for device {PAIR}"):
        bench.prepare("u1", PAIR)

    assert active(bench) == [SINGLE_ID]
    assert bench.records() == ()


def test_who_takes_the_very_partition_after_the_check_keeps_it(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    activate = type(bench.simulated.fabric).activate

    def beaten(self: Any, partition: int) -> None:
        activate(self, partition)
        activate(self, partition)

    monkeypatch.setattr(type(bench.simulated.fabric), "activate", beaten)

    with pytest.raises(PlacementTaken):
        bench.prepare("u1", PAIR)

    assert active(bench) == [PAIR_ID]
    assert bench.records() == ()


def test_foreign_partitions_are_reported_at_the_start_and_ours_are_not(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.prepare("u2", "gpu-2")
    bench.simulated.fabric.activate(1)

    found = [one for one in bench.restart().reconcile() if isinstance(one, ReportForeign)]

    assert [one.found.what for one in found] == [
        "fabric partition 1 (GPU modules 1, 2, 3, 4), which is active"
    ]
    assert active(bench) == [1, PAIR_ID, 12]


@BOTH
def test_after_a_reboot_that_forgot_the_partition_the_claim_is_forgotten(
    bench: Any, device: str, partition: int
) -> None:
    bench.prepare("u1", device)
    bench.simulated.reboot()

    bench.restart()

    assert bench.leftovers() == []


@BOTH
def test_after_a_reboot_that_kept_the_partition_it_is_deactivated(
    bench: Any, device: str, partition: int
) -> None:
    bench.prepare("u1", device)
    bench.simulated.reboot()
    bench.simulated.fabric.activate(partition)

    bench.restart()

    assert bench.leftovers() == []


def test_a_fabric_manager_that_restarted_is_told_again_by_the_next_prepare(bench: Any) -> None:
    first = bench.prepare("u1", PAIR)
    bench.simulated.restart_fabric_manager()

    assert bench.prepare("u1", PAIR) == first

    assert active(bench) == [PAIR_ID]


def test_a_fabric_manager_that_restarted_leaves_nothing_to_undo(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.simulated.restart_fabric_manager()

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_crash_in_between_is_undone_at_the_start(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    (record,) = bench.records()
    RecordStore(bench.options.claims_dir).note(record.in_state(State.STARTED))
    bench.document("u1").unlink()  # which is written after the last line

    bench.restart()

    assert bench.leftovers() == []


def test_while_the_fabric_manager_does_not_run_prepare_says_who_acts_and_changes_nothing(bench: Any) -> None:
    bench.driver.health.read()  # the node is read while it runs
    bench.inject("machine:no-fabric-manager")

    with pytest.raises(HardwareFailed, match="the operator starts the fabric manager") as refusal:
        bench.prepare("u1", PAIR)

    assert refusal.value.retry
    bench.simulated.clear_faults()
    assert bench.leftovers() == []


@pytest.mark.parametrize("device", [SINGLE, PAIR])
def test_what_cannot_be_joined_is_not_offered_and_a_claim_on_it_hears_of_it(bench: Any, device: str) -> None:
    bench.inject("machine:no-fabric-manager")
    bench.restart()

    assert device not in bench.names()
    with pytest.raises(UnknownDevice) as refusal:
        bench.prepare("u1", device)
    assert ("it does not run" in str(refusal.value)) == (device == SINGLE)
    assert len(bench.prepare("u2", SMALL)) == 1

    bench.simulated.clear_faults()
    bench.unprepare("u2")
    assert bench.prepare("u1", device)[0].device == device


def test_unprepare_is_retried_until_the_fabric_manager_runs_again(bench: Any) -> None:
    bench.prepare("u1", PAIR)
    bench.inject("machine:no-fabric-manager")

    with pytest.raises(HardwareFailed, match="it does not run") as refusal:
        bench.unprepare("u1")
    assert refusal.value.retry
    assert [record.state for record in bench.records()] == [State.UNDOING]

    bench.simulated.clear_faults()
    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_node_that_is_bare_metal_now_leaves_nothing_to_deactivate(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.prepare("u1", PAIR)
    bench.simulated.restart_fabric_manager()
    monkeypatch.setattr(type(bench.simulated.fabric), "mode", lambda _: FabricMode.NONE)

    bench.unprepare("u1")

    assert bench.records() == ()


def test_an_activation_that_timed_out_and_came_true_is_undone(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = type(bench.simulated.fabric)
    activate, deactivate = simulated.activate, simulated.deactivate
    late: list[int] = []

    def times_out(self: Any, partition: int) -> None:
        late.append(partition)
        bench.inject("machine:activate-partition:timed-out:1")
        activate(self, partition)

    def after_that(self: Any, partition: int) -> None:
        if late:
            activate(self, late.pop())  # it serves one call after the other
        deactivate(self, partition)

    monkeypatch.setattr(simulated, "activate", times_out)
    monkeypatch.setattr(simulated, "deactivate", after_that)

    with pytest.raises(PluginError):
        bench.prepare("u1", PAIR)

    assert bench.leftovers() == []


def test_a_partition_that_lost_its_gpus_is_refused_with_who_acts(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.driver.health.read()
    simulated = type(bench.simulated.fabric)
    partitions = simulated.partitions
    monkeypatch.setattr(
        simulated, "partitions", lambda self: tuple(one for one in partitions(self) if one.id != PAIR_ID)
    )

    with pytest.raises(NotReady, match=rf"no partition {PAIR_ID} of its GPUs.*restarts the plugin"):
        bench.prepare("u1", PAIR)

    assert bench.records() == ()


def test_a_given_table_chooses_among_the_fabric_managers_groups(
    folder: Path, fabric_bench_in: Callable[..., Any]
) -> None:
    pairs = table_of("table", {"2": [{"minors": [0, 1]}, {"minors": [0, 2]}]})
    bench = fabric_bench_in(folder, LinkedGpus(pairs), GpuModes(ModesOfGpu(shared=100)))

    bench.prepare("u1", PAIR)
    with pytest.raises(UnknownDevice, match="the fabric manager has no partition of exactly these GPUs"):
        bench.prepare("u2", "gpus-0-2")
    with pytest.raises(UnknownDevice, match="is not offered in shares"):
        bench.prepare("u3", "gpu-4-shared")

    assert active(bench) == [PAIR_ID]


def test_only_records_that_name_a_partition_need_a_newer_plugin(bench: Any, bench_in: Any) -> None:
    bench.prepare("u1", SINGLE)
    bench.prepare("u2", "gpu-1-mig-1g-10gb-0")

    assert recorded_version(bench, "u1") == 3
    assert recorded_version(bench, "u2") == 1


def test_a_node_that_joins_on_request_only_now_says_that_the_plugin_must_read_it_anew(
    bench_in: Callable[[Path], Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_in(folder)
    bench.driver.health.read()
    monkeypatch.setattr(type(bench.simulated.fabric), "mode", lambda _: FabricMode.SHARED)

    with pytest.raises(NotReady, match="were not when the node was read; the operator restarts the plugin"):
        bench.prepare("u1", SINGLE)

    assert bench.records() == ()
