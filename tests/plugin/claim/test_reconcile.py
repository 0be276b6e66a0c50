"""At the start: records against hardware, boot id and files, to repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from agent.hardware.types import ComputeInstance, GpuInstance, GpuUuid, MigUuid, Placement
from agent.inventory.foreign.texts import instances_text
from plugin.claim.quarantine.census import Census
from plugin.claim.quarantine.evidence import Evidence
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.reconciling.repairs import Forget, Keep, ReportForeign, Sweep, Undo, repairs
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Foreign
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.setup import DeviceSetup
from plugin.machine.node import NodeSnapshot
from scheduler_core.model.claim import ClaimUid

GPU = GpuUuid("GPU-1")
NONE: frozenset[ClaimUid] = frozenset()


def mig_partition(start: int = 0, gi_id: int | None = 7, uuid: str | None = "MIG-1") -> ClaimedMigPartition:
    return ClaimedMigPartition(
        requests=("r",),
        pool="node-1",
        device=f"gpu-0-mig-1g-5gb-{start}",
        cdi_id=f"tangram.dev/claim=x-{start}",
        parent_uuid=GPU,
        profile_id=19,
        start=start,
        size=1,
        gi_id=gi_id,
        ci_id=None if uuid is None else 0,
        mig_uuid=uuid,
    )


def record(
    uid: str, state: State = State.COMPLETED, boot_id: str = "boot-1", held: ClaimedMigPartition | None = None
) -> Record:
    return Record(
        claim_uid=uid,
        namespace="default",
        name=uid,
        driver="tangram.dev",
        boot_id=boot_id,
        state=state,
        devices=(held or mig_partition(),),
    )


def instance(start: int = 0, gi_id: int = 7, uuid: str | None = "MIG-1") -> GpuInstance:
    compute = () if uuid is None else (ComputeInstance(0, MigUuid(uuid)),)
    return GpuInstance(GPU, gi_id, 19, Placement(start, 1), compute)


def foreign(*instances: GpuInstance) -> Callable[[Iterable[Claimed]], Iterable[Foreign]]:
    """Say what is foreign on a machine with these instances."""
    no_devices: Any = None
    return partial(DeviceSetup().foreign, NodeSnapshot(no_devices, {}, {GPU: instances}))


def report(instance: GpuInstance) -> ReportForeign:
    return ReportForeign(Foreign(f"GPU {GPU}", instances_text([instance])))


def test_half_done_claims_are_undone_and_completed_ones_left_alone() -> None:
    census = Census(
        records=(
            record("a", State.STARTED),
            record("b", State.UNDOING),
            record("c", State.COMPLETED),
        )
    )

    found = repairs(census, foreign(), frozenset({ClaimUid("c")}), "boot-1")

    assert found == (Undo(ClaimUid("a")), Undo(ClaimUid("b")))


def test_every_claim_of_an_earlier_boot_is_forgotten_in_whatever_state() -> None:
    census = Census(records=tuple(record(state, state, "boot-0") for state in list(State)[1:]))

    found = repairs(census, foreign(), NONE, "boot-1")

    assert {type(each) for each in found} == {Forget}
    assert len(found) == 3


def test_documents_and_half_written_files_without_a_record_are_swept() -> None:
    census = Census(records=(record("kept"),), unfinished=(ClaimUid("kept"), ClaimUid("half")))

    found = repairs(census, foreign(), frozenset({ClaimUid("kept"), ClaimUid("lone")}), "boot-1")

    assert found == (Sweep(ClaimUid("half")), Sweep(ClaimUid("lone")))


def test_the_document_of_a_claim_whose_record_cannot_be_read_stays_for_its_container() -> None:
    broken = Quarantined(uid=ClaimUid("broken"), why="line 2")
    newer = Quarantined(uid=ClaimUid("newer"), why="version 9", is_too_new=True)
    documents = frozenset({ClaimUid("broken"), ClaimUid("newer")})

    found = repairs(Census(quarantined=(broken, newer)), foreign(), documents, "boot-1")

    assert found == (Keep(ClaimUid("broken")), Keep(ClaimUid("newer")))


def in_quarantine(held: Record, *, is_too_new: bool = False) -> Quarantined:
    known = Evidence(held, frozenset(), held.ref, held.boot_id)
    return Quarantined(uid=held.uid, why="line 2", known=known, is_too_new=is_too_new)


def test_nothing_of_a_half_done_claim_is_undone_whose_record_cannot_be_believed() -> None:
    census = Census(quarantined=(in_quarantine(record("a", State.STARTED)),))

    assert repairs(census, foreign(), NONE, "boot-1") == (Keep(ClaimUid("a")),)


def test_an_instance_that_a_claim_in_quarantine_names_is_not_foreign() -> None:
    census = Census(quarantined=(in_quarantine(record("a")),))

    assert repairs(census, foreign(instance()), NONE, "boot-1") == (Keep(ClaimUid("a")),)


def test_a_claim_in_quarantine_is_forgotten_once_a_sound_line_says_that_it_is_of_an_earlier_boot() -> None:
    over, newer = record("a", boot_id="boot-0"), record("b", boot_id="boot-0")
    census = Census(quarantined=(in_quarantine(over), in_quarantine(newer, is_too_new=True)))

    assert repairs(census, foreign(), NONE, "boot-1") == (Forget(ClaimUid("a")), Keep(ClaimUid("b")))


def test_an_instance_that_no_record_names_is_reported() -> None:
    ours, other = instance(0), instance(3, gi_id=9, uuid="MIG-9")

    found = repairs(Census(records=(record("a"),)), foreign(ours, other), NONE, "boot-1")

    assert found == (report(other),)


def test_an_instance_in_our_place_with_another_uuid_is_foreign() -> None:
    reused = instance(0, gi_id=7, uuid="MIG-2")

    found = repairs(Census(records=(record("a"),)), foreign(reused), NONE, "boot-1")

    assert found == (report(reused),)


def test_a_gpu_instance_without_a_ci_at_a_started_placement_is_ours() -> None:
    begun = record("a", State.STARTED, held=mig_partition(gi_id=None, uuid=None))

    found = repairs(Census(records=(begun,)), foreign(instance(uuid=None)), NONE, "boot-1")

    assert found == (Undo(ClaimUid("a")),)


def test_an_instance_with_a_ci_at_a_placement_whose_gi_was_never_recorded_is_foreign() -> None:
    begun = record("a", State.STARTED, held=mig_partition(gi_id=None, uuid=None))

    found = repairs(Census(records=(begun,)), foreign(instance()), NONE, "boot-1")

    assert found == (Undo(ClaimUid("a")), report(instance()))


def test_an_instance_that_only_a_claim_of_an_earlier_boot_names_is_foreign() -> None:
    census = Census(records=(record("a", boot_id="boot-0"),))

    found = repairs(census, foreign(instance()), NONE, "boot-1")

    assert found == (Forget(ClaimUid("a")), report(instance()))


def test_nothing_to_repair_is_an_empty_answer() -> None:
    census = Census(records=(record("a"),))

    assert repairs(census, foreign(instance()), frozenset({ClaimUid("a")}), "boot-1") == ()
