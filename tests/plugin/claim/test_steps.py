"""The steps of a claim's life: each is recorded before the machine changes, and can be repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from devices_of_kinds import waiting_of

from plugin.base.errors import DeviceHeld, PlacementTaken, StorageFailed
from plugin.cdi.folder import CdiFolder
from plugin.cdi.hook import HookProgram
from plugin.cdi.metadata_folder import MetadataFolder
from plugin.claim.plan import placeholder, resolve
from plugin.claim.preparation import Plan
from plugin.claim.record import Record
from plugin.claim.record_store import RecordStore
from plugin.claim.states import Event, State
from plugin.claim.steps import ClaimSteps
from plugin.kinds.setup import DeviceSetup
from plugin.machine.made_vfs import MadeVfStore
from plugin.machine.mig.made import MadeModes
from plugin.machine.node import Node
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2"


@pytest.fixture
def steps(bench: Any) -> ClaimSteps:
    return ClaimSteps(
        machine=bench.machine,
        node=Node(bench.machine.readers, bench.node, "tangram.dev"),
        store=RecordStore(bench.options.claims_dir),
        cdi=CdiFolder(bench.options.cdi_dir, "tangram.dev"),
        metadata=MetadataFolder(
            bench.options.metadata_dir, bench.options.cdi_dir, "tangram.dev", is_wanted=False
        ),
        hook=HookProgram(Path("/hook")),
        cache_program=None,
        setup=DeviceSetup(),
        host_root=Path("/"),
        waiting=waiting_of(bench),
        made_vfs=MadeVfStore(bench.options.made_vfs_dir),
        made_modes=MadeModes(bench.options.mig_modes_dir),
    )


@pytest.fixture
def plan_of(bench: Any, steps: ClaimSteps) -> Callable[..., Plan]:
    def plan(uid: str, *devices: str, boot_id: str = "") -> Plan:
        snapshot = steps.node.snapshot
        boot = boot_id or bench.machine.boot.boot_id()
        return Plan(resolve(bench.claim(uid, *devices), snapshot.devices, boot), snapshot)

    return plan


def begin(steps: ClaimSteps, plan: Plan) -> Record:
    return steps.begin(plan, steps.store.save, steps.context_of(plan))


def test_beginning_completes_a_claim_and_undoing_leaves_nothing(
    bench: Any, steps: ClaimSteps, plan_of: Callable[..., Plan]
) -> None:
    completed = begin(steps, plan_of("u1", HALF, "gpu-1"))

    assert completed.state is State.COMPLETED
    assert bench.records() == (completed,)
    assert bench.document("u1").exists()
    steps.undo(completed, Event.UNPREPARE)
    assert bench.leftovers() == []


def test_confirming_changes_nothing_where_nothing_is_missing(
    bench: Any, steps: ClaimSteps, plan_of: Callable[..., Plan]
) -> None:
    plan = plan_of("u1", HALF)
    completed = begin(steps, plan)
    file = bench.options.claims_dir / "u1.json"
    before = (file.read_bytes(), bench.instances(), bench.document("u1").read_bytes())

    assert steps.confirm(completed, plan) == completed
    assert (file.read_bytes(), bench.instances(), bench.document("u1").read_bytes()) == before


def test_a_plan_that_cannot_be_recorded_touches_no_hardware(
    bench: Any, steps: ClaimSteps, plan_of: Callable[..., Plan]
) -> None:
    def write(record: Record) -> None:
        raise StorageFailed("write", "the record", "No space left on device")

    plan = plan_of("u1", HALF)

    with pytest.raises(StorageFailed):
        steps.begin(plan, write, steps.context_of(plan))

    assert bench.leftovers() == []


def test_what_cannot_be_undone_at_once_stays_recorded(
    bench: Any, steps: ClaimSteps, plan_of: Callable[..., Plan]
) -> None:
    bench.inject("gpu-0:create-compute-instance:hardware-fault:1", "gpu-0:destroy-gpu-instance:in-use:2")

    with pytest.raises(Exception, match="create compute instance"):
        begin(steps, plan_of("u1", HALF))

    (record,) = bench.records()
    assert record.state is State.UNDOING
    steps.end(record, record.boot_id)
    assert bench.leftovers() == []


def test_a_refusal_comes_before_any_change(
    bench: Any, steps: ClaimSteps, plan_of: Callable[..., Plan]
) -> None:
    completed = begin(steps, plan_of("u1", HALF))
    held = plan_of("u2", HALF)
    with pytest.raises(DeviceHeld, match=r"claim-u1 \(completed\)"):
        steps.refuse(held, steps.context_of(held))
    steps.store.remove(completed.uid)

    with pytest.raises(PlacementTaken, match="no claim of this driver created it"):
        steps.refuse(held, steps.context_of(held))

    assert bench.records() == ()
    assert len(bench.instances()) == 1


def test_an_earlier_record_is_kept_only_where_it_is_complete_and_of_this_boot_and_allocation(
    bench: Any, steps: ClaimSteps, plan_of: Callable[..., Plan]
) -> None:
    plan = plan_of("u1", HALF)
    completed = begin(steps, plan)

    assert steps.keep_or_undo(completed, plan)
    assert not steps.keep_or_undo(completed, plan_of("u1", SMALL))
    assert bench.leftovers() == []
    assert not steps.keep_or_undo(begin(steps, plan).in_state(State.STARTED), plan)
    assert bench.leftovers() == []
    assert not steps.keep_or_undo(begin(steps, plan), plan_of("u1", HALF, boot_id="next boot"))
    assert bench.records() == ()


def test_of_an_earlier_boot_only_files_are_removed(
    bench: Any, steps: ClaimSteps, plan_of: Callable[..., Plan]
) -> None:
    completed = begin(steps, plan_of("u1", HALF))

    steps.end(msgspec.structs.replace(completed, boot_id="earlier boot"), completed.boot_id)

    assert len(bench.instances()) == 1
    assert bench.records() == ()
    assert not bench.document("u1").exists()


def test_something_else_in_the_place_of_a_placeholder_is_moved_aside_and_logged(
    bench: Any, steps: ClaimSteps, caplog: pytest.LogCaptureFixture
) -> None:
    uid, ref = ClaimUid("u1"), ClaimRef("default", "claim-u1")
    steps.store.save(placeholder(uid, ref, "tangram.dev", "boot-1"))
    steps.remove_placeholder(uid, ref)
    assert bench.leftovers() == []

    (bench.options.claims_dir / "u1.json" / "precious").mkdir(parents=True)
    steps.remove_placeholder(uid, ref)

    assert "u1.json was not a file of this driver; it was moved to" in caplog.text
    assert [path.name for path in bench.options.claims_dir.rglob("precious")] == ["precious"]
