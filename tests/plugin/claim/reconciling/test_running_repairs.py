"""While the plugin runs: records against what a look saw, to repairs; pure."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from plugin.claim.quarantine.census import Census
from plugin.claim.quarantine.evidence import Evidence
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.reconciling.missing import MissingDevice
from plugin.claim.reconciling.repairs import End, Forget, Rewrite, Seen, Sweep, Tell, Undo, running_repairs
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from scheduler_core.model.claim import ClaimUid

A, B = ClaimUid("a"), ClaimUid("b")
GONE = MissingDevice("gpu-0", "it fell off the bus")
WELL = Seen(missing={A: ()})


def record(uid: str, state: State = State.COMPLETED, boot_id: str = "boot-1") -> Record:
    device = ClaimedGpu(
        requests=("r",), pool="node-1", device="gpu-0", cdi_id="tangram.dev/claim=x", gpu_uuid="GPU-1"
    )
    return Record(
        claim_uid=uid,
        namespace="default",
        name=uid,
        driver="tangram.dev",
        boot_id=boot_id,
        state=state,
        devices=(device,),
    )


def in_quarantine(uid: str, *, is_too_new: bool = False) -> Quarantined:
    held = record(uid)
    known = Evidence(held, frozenset(), held.ref, held.boot_id)
    return Quarantined(uid=held.uid, why="line 2", known=known, is_too_new=is_too_new)


PREPARED = Census(records=(record("a"),))


def test_a_prepared_claim_that_is_as_it_was_needs_nothing() -> None:
    assert running_repairs(PREPARED, WELL, "boot-1") == ()


def test_a_document_that_was_deleted_or_changed_is_written_again() -> None:
    assert running_repairs(PREPARED, replace(WELL, altered=frozenset({A})), "boot-1") == (Rewrite(A),)


def test_no_document_is_written_for_devices_that_are_gone_or_cannot_be_read() -> None:
    gone = Seen(altered=frozenset({A}), missing={A: (GONE,)}, told={A: (GONE,)})
    unknown = Seen(altered=frozenset({A}))

    assert running_repairs(PREPARED, gone, "boot-1") == ()
    assert running_repairs(PREPARED, unknown, "boot-1") == ()


def test_a_device_that_is_gone_is_told_once_and_told_again_when_it_is_back() -> None:
    assert running_repairs(PREPARED, Seen(missing={A: (GONE,)}), "boot-1") == (Tell(A),)
    assert running_repairs(PREPARED, Seen(missing={A: (GONE,)}, told={A: (GONE,)}), "boot-1") == ()
    assert running_repairs(PREPARED, Seen(missing={A: ()}, told={A: (GONE,)}), "boot-1") == (Tell(A),)


def test_what_cannot_be_read_now_changes_nothing_that_was_told() -> None:
    assert running_repairs(PREPARED, Seen(told={A: (GONE,)}), "boot-1") == ()


def test_a_claim_that_is_over_is_undone_whatever_else_is_wrong_with_it() -> None:
    seen = Seen(altered=frozenset({A}), missing={A: (GONE,)}, over=frozenset({A}))

    assert running_repairs(PREPARED, seen, "boot-1") == (End(A),)


def test_a_claim_that_a_process_left_half_prepared_is_undone_and_one_half_undone_is_tried_elsewhere() -> None:
    census = Census(records=(record("a", State.STARTED), record("b", State.UNDOING)))

    assert running_repairs(census, Seen(over=frozenset({B})), "boot-1") == (Undo(A),)


def test_a_claim_of_another_boot_is_forgotten() -> None:
    assert running_repairs(Census(records=(record("a", boot_id="boot-0"),)), WELL, "boot-1") == (Forget(A),)


def test_files_without_a_record_are_swept() -> None:
    census = Census(records=(record("a"),), unfinished=(B,))

    seen = replace(WELL, documents=frozenset({A, ClaimUid("c")}))

    assert running_repairs(census, seen, "boot-1") == (Sweep(B), Sweep(ClaimUid("c")))


def test_a_claim_in_quarantine_ends_when_no_pod_has_it_but_never_one_of_a_newer_version() -> None:
    census = Census(quarantined=(in_quarantine("a"), in_quarantine("b", is_too_new=True)))

    assert running_repairs(census, Seen(), "boot-1") == ()
    assert running_repairs(census, Seen(over=frozenset({A, B})), "boot-1") == (End(A),)


UIDS = st.sampled_from([ClaimUid(f"u{number}") for number in range(4)])
SETS = st.frozensets(UIDS)
STORED = [State.STARTED, State.COMPLETED, State.UNDOING]
MISSING = st.dictionaries(UIDS, st.sampled_from([(), (GONE,)]))
SEEN = st.builds(Seen, documents=SETS, altered=SETS, missing=MISSING, told=MISSING, over=SETS)


@given(
    states=st.dictionaries(UIDS, st.tuples(st.sampled_from(STORED), st.sampled_from(["boot-0", "boot-1"]))),
    quarantined=st.dictionaries(UIDS, st.booleans()),
    seen=SEEN,
)
def test_whatever_is_seen_a_prepared_claim_is_undone_only_if_it_is_over_and_repaired_at_most_once(
    states: dict[ClaimUid, tuple[State, str]], quarantined: dict[ClaimUid, bool], seen: Seen
) -> None:
    kept = tuple(in_quarantine(uid, is_too_new=new) for uid, new in quarantined.items())
    sound = {uid: found for uid, found in states.items() if uid not in quarantined}
    census = Census(
        records=tuple(record(uid, state, boot) for uid, (state, boot) in sound.items()), quarantined=kept
    )

    found = running_repairs(census, seen, "boot-1")

    assert len({repair.uid for repair in found}) == len(found)
    undone = {repair.uid for repair in found if isinstance(repair, Undo | End | Sweep | Forget)}
    running = {uid for uid, found in sound.items() if found == (State.COMPLETED, "boot-1")}
    assert undone & (running | quarantined.keys()) <= seen.over
    assert not undone & {uid for uid, is_too_new in quarantined.items() if is_too_new}
