"""Which GPUs are given up with a claim: those that nobody else has; pure."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.types import GpuUuid
from plugin.claim.quarantine.census import Census
from plugin.claim.quarantine.evidence import Evidence
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.reconciling.programs import given_up
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.registry import ClaimedDevice
from plugin.kinds.whole_gpus.shared_gpu import ClaimedGpuShare
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from scheduler_core.model.claim import ClaimUid
from scheduler_core.model.device import DeviceName

BOOT, EARLIER = "boot-1", "boot-0"
A, B = ClaimUid("a"), ClaimUid("b")
GPUS = [GpuUuid(f"GPU-{index}") for index in range(3)]
_COMMON = {"requests": ("r",), "pool": "node-1", "device": "d", "cdi_id": "tangram.dev/claim=x"}


def whole(gpu: str, **more: object) -> ClaimedDevice:
    return ClaimedGpu(**_COMMON, gpu_uuid=gpu, **more)  # type: ignore[arg-type]


def share(gpu: str) -> ClaimedDevice:
    return ClaimedGpuShare(**_COMMON, gpu_uuid=gpu, share_id="s", amounts={})  # type: ignore[arg-type]


def partition(gpu: str) -> ClaimedDevice:
    return ClaimedMigPartition(**_COMMON, parent_uuid=gpu, profile_id=9, start=0, size=4)  # type: ignore[arg-type]


def record(uid: str, *devices: ClaimedDevice, boot_id: str = BOOT) -> Record:
    return Record(
        claim_uid=uid,
        namespace="default",
        name=uid,
        driver="tangram.dev",
        boot_id=boot_id,
        state=State.COMPLETED,
        devices=devices,
    )


def lost_record(uid: str, *gpus: str) -> Quarantined:
    """A claim of which only the document says what it has."""
    return Quarantined(uid=ClaimUid(uid), why="line 1", told={DeviceName("d"): ",".join(gpus)})


def test_a_mig_partition_gives_no_gpu_up_because_the_driver_refuses_to_destroy_one_in_use() -> None:
    assert given_up(Census(records=(record("a", partition("GPU-0")),)), A, BOOT) == frozenset()


def test_a_gpu_that_another_claim_shares_or_has_in_quarantine_is_not_given_up() -> None:
    mine = record("a", share("GPU-0"), whole("GPU-1"))
    others = (record("b", share("GPU-0")),)
    kept = (lost_record("c", "GPU-1"),)

    assert given_up(Census(records=(mine,)), A, BOOT) == {"GPU-0", "GPU-1"}
    assert given_up(Census(records=(mine, *others)), A, BOOT) == {"GPU-1"}
    assert given_up(Census(records=(mine, *others), quarantined=kept), A, BOOT) == frozenset()


def test_what_a_claim_only_looks_at_is_neither_given_up_nor_kept() -> None:
    looking, using = record("a", whole("GPU-0", admin_access=True)), record("b", whole("GPU-0"))

    assert given_up(Census(records=(looking, using)), A, BOOT) == frozenset()
    assert given_up(Census(records=(looking, using)), B, BOOT) == {"GPU-0"}


def test_claims_of_an_earlier_boot_have_no_programs_and_keep_nothing() -> None:
    earlier, now = record("a", whole("GPU-0"), boot_id=EARLIER), record("b", whole("GPU-0"))

    assert given_up(Census(records=(earlier, now)), A, BOOT) == frozenset()
    assert given_up(Census(records=(earlier, now)), B, BOOT) == {"GPU-0"}


def test_of_a_claim_without_any_sound_line_its_document_says_which_gpus_it_has() -> None:
    lost = lost_record("a", "GPU-0", "MIG-1")
    census = Census(quarantined=(lost,))

    assert given_up(census, A, BOOT, GPUS) == {"GPU-0"}
    assert given_up(census, A, BOOT) == frozenset()


def test_of_a_claim_in_quarantine_its_sound_lines_say_it() -> None:
    held = record("a", whole("GPU-0"))
    known = Evidence(held, frozenset(), held.ref, held.boot_id)

    assert given_up(Census(quarantined=(Quarantined(uid=A, why="line 2", known=known),)), A, BOOT) == {
        "GPU-0"
    }


HELD = st.lists(st.lists(st.sampled_from(GPUS), min_size=1, unique=True), min_size=1, max_size=5)


@given(HELD, st.data())
def test_each_gpu_is_given_up_once_by_the_last_claim_that_has_it(
    held: Sequence[Sequence[GpuUuid]], data: st.DataObject
) -> None:
    records = [record(str(index), *map(share, gpus)) for index, gpus in enumerate(held)]
    order = data.draw(st.permutations(records))
    looked_at: list[GpuUuid] = []

    for index, ends in enumerate(order):
        gone = given_up(Census(records=tuple(order[index:])), ends.uid, BOOT)
        left = {target.address for one in order[index + 1 :] for target in one.lock_targets}
        assert gone.isdisjoint(left)
        looked_at += gone

    assert sorted(looked_at) == sorted({gpu for gpus in held for gpu in gpus})
