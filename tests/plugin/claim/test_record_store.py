"""The durable record."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from short_folders import short_folder

from plugin.base.claim_uid import checked_uid, is_uid
from plugin.base.errors import ClaimUnusable, RecordDamaged, RecordTooNew
from plugin.claim.record import Record
from plugin.claim.record_format import VERSION, Corrupt, decode, encode
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from scheduler_core.model.claim import ClaimRef, ClaimUid

UID = ClaimUid("0b7a0f6e-51f9-4a34-9f4a-5a3a2c2f7d11")
MIG_PARTITION = ClaimedMigPartition(
    requests=("train",),
    pool="node-1",
    device="gpu-0-mig-3g-20gb-4-7",
    cdi_id=f"tangram.dev/claim={UID}-gpu-0-mig-3g-20gb-4-7",
    parent_uuid="GPU-1",
    profile_id=9,
    start=4,
    size=4,
    gi_id=1,
    ci_id=0,
    mig_uuid="MIG-1",
)
GPU = ClaimedGpu(requests=("a", "b"), pool="node-1", device="gpu-1", cdi_id="x/claim=y", gpu_uuid="GPU-2")
RECORD = Record(
    claim_uid=UID,
    namespace="default",
    name="train",
    driver="tangram.dev",
    boot_id="boot-1",
    state=State.STARTED,
    devices=(MIG_PARTITION, GPU),
)


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "claims")


def path_of(store: RecordStore, uid: str = UID) -> Path:
    return store.folder / f"{uid}.json"


def test_a_record_comes_back_as_it_was_saved(store: RecordStore) -> None:
    store.save(RECORD)

    assert store.load(UID) == RECORD
    assert store.census().records == (RECORD,)


def test_a_record_is_moved_and_never_loses_whom_it_is_of(store: RecordStore) -> None:
    store.save(RECORD)
    store.save(RECORD.in_state(State.COMPLETED).with_device(MIG_PARTITION.with_gpu_instance(7)))

    found = store.load(UID)

    assert found is not None
    assert (found.ref, found.state) == (ClaimRef("default", "train"), State.COMPLETED)
    assert found.devices == (MIG_PARTITION.with_gpu_instance(7), GPU)


def test_a_removed_record_is_unknown(store: RecordStore) -> None:
    store.save(RECORD)

    store.remove(UID)

    assert store.load(UID) is None
    assert list(store.folder.iterdir()) == []


def test_people_can_read_a_record_and_what_it_was_before(store: RecordStore) -> None:
    store.save(RECORD)
    store.note(RECORD.in_state(State.COMPLETED))

    first, last = (json.loads(line) for line in path_of(store).read_text().splitlines())

    assert first["version"] == 1
    assert first["claim"]["devices"][0]["parent_uuid"] == "GPU-1"
    assert [first["claim"]["state"], last["claim"]["state"]] == ["started", "completed"]


@given(length=st.integers(min_value=0, max_value=len(encode(RECORD)) - 2))
def test_what_was_cut_off_counts_as_not_written_and_what_follows_it_does(length: int) -> None:
    completed, undoing = RECORD.in_state(State.COMPLETED), RECORD.in_state(State.UNDOING)
    with short_folder() as folder:
        store = RecordStore(Path(folder))
        store.save(RECORD)
        store.note(completed)
        with path_of(store).open("ab") as file:
            file.write(encode(undoing, "0" * 64)[:length])

        assert store.census().records == (completed,)
        assert store.peek(UID)[0] == completed
        assert store.load(UID) == completed
        store.note(undoing)

        assert store.load(UID) == undoing


def test_a_line_that_lacks_its_newline_alone_was_written(store: RecordStore) -> None:
    undoing = RECORD.in_state(State.UNDOING)
    store.save(RECORD)
    store.note(RECORD.in_state(State.COMPLETED))
    with path_of(store).open("rb+") as file:
        file.truncate(path_of(store).stat().st_size - 1)

    assert store.census().records == (RECORD.in_state(State.COMPLETED),)
    assert store.load(UID) == RECORD.in_state(State.COMPLETED)
    store.note(undoing)

    assert store.load(UID) == undoing


def test_a_record_that_says_more_and_more_does_not_grow_without_end(store: RecordStore) -> None:
    store.save(RECORD)
    for gi_id in range(1000):
        store.note(RECORD.with_device(MIG_PARTITION.with_gpu_instance(gi_id)))

    assert path_of(store).stat().st_size < 100_000
    assert store.load(UID) == RECORD.with_device(MIG_PARTITION.with_gpu_instance(999))


@given(position=st.integers(min_value=0), bit=st.integers(min_value=0, max_value=7))
def test_no_flipped_bit_of_a_record_goes_unnoticed(position: int, bit: int) -> None:
    data = bytearray(encode(RECORD))
    data[position % len(data)] ^= 1 << bit

    with pytest.raises(Corrupt):
        decode(bytes(data), UID)


@given(length=st.integers(min_value=0, max_value=len(encode(RECORD)) - 3))
def test_no_cut_off_record_is_taken_for_a_record(length: int) -> None:
    with pytest.raises(Corrupt):
        decode(encode(RECORD)[:length], UID)


def test_the_checksum_is_of_the_stored_bytes_and_not_of_how_we_write_today() -> None:
    content = json.loads(encode(RECORD))["claim"] | {"field_of_another_release": 1}
    stored = json.dumps(content, sort_keys=True, separators=("  ,", " : "))
    digest = hashlib.sha256(stored.encode()).hexdigest()

    found = decode(f'{{"version":1,"checksum":"{digest}","claim":{stored}}}\n'.encode(), UID)

    assert found.record == RECORD


@pytest.mark.parametrize(
    "content",
    [
        b"\x00" * 100,
        b"{}",
        b"[]",
        b'{"version": "1"}',
        b'{"version": 1, "checksum": "", "claim": {}}',
        b"\xff\xfe",
    ],
)
def test_a_corrupt_file_is_refused_with_who_acts_and_left_alone_and_stops_nobody(
    store: RecordStore, content: bytes
) -> None:
    other = ClaimUid("other")
    store.save(RECORD)
    path_of(store, other).write_bytes(content)

    with pytest.raises(RecordDamaged, match=r"claim other: .*pod is deleted.*tangram plugin release other"):
        store.load(other)

    census = store.census()
    assert census.records == (RECORD,)
    assert [one.uid for one in census.quarantined] == [other]
    assert path_of(store, other).read_bytes() == content


def test_the_end_of_a_quarantine_keeps_the_file_and_says_what_it_is_called(
    store: RecordStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.save(RECORD)
    path_of(store).write_bytes(b"broken")
    found = store.quarantined(UID)
    assert found is not None

    assert store.end_quarantine(found) is None

    assert store.load(UID) is None
    assert path_of(store, f"{UID}.json.corrupt").with_suffix("").read_bytes() == b"broken"
    assert f"claim {UID}: its record is now" in caplog.text
    assert "operator" in caplog.text


def test_the_record_of_one_claim_under_the_name_of_another_is_corrupt() -> None:
    with pytest.raises(Corrupt, match=UID):
        decode(encode(RECORD), ClaimUid("another"))


def test_a_record_of_a_newer_version_is_refused_with_who_acts_and_left_alone(store: RecordStore) -> None:
    store.save(RECORD)
    newer = f'{{"version": {VERSION + 1}, "anything": ["else"]}}\n'.encode()
    path_of(store).write_bytes(newer)

    told = rf"claim {UID}: it has version {VERSION + 1}.*up to {VERSION}.*upgrades the plugin"
    with pytest.raises(RecordTooNew, match=told):
        store.load(UID)

    assert [(one.uid, one.is_too_new) for one in store.census().quarantined] == [(UID, True)]
    assert path_of(store).read_bytes() == newer


def test_a_half_written_first_record_is_seen_as_unfinished(store: RecordStore) -> None:
    store.save(RECORD)
    (store.folder / ".half.json.tmp").write_bytes(b'{"ver')

    census = store.census()

    assert census.records == (RECORD,)
    assert census.unfinished == ("half",)


@pytest.mark.parametrize(
    "uid", ["", "../evil", "a/b", ".", "..", "-a", "a-", "a b", "a\n", "ü", "a" * 65, "a\0b"]
)
def test_a_uid_that_could_lead_out_of_the_folder_is_refused(uid: str) -> None:
    assert not is_uid(uid)
    with pytest.raises(ClaimUnusable, match="must be 1 to 64 letters, digits and dashes"):
        checked_uid(uid, ClaimRef("default", "evil"))


def test_files_with_other_names_are_not_ours(store: RecordStore) -> None:
    store.save(RECORD)
    (store.folder / "notes.txt").write_text("by the operator")
    (store.folder / "a b.json").write_text("{}")

    assert store.census().quarantined == ()


def test_an_empty_file_is_a_claim_for_which_nothing_was_done_before_the_power_went(bench: Any) -> None:
    bench.options.claims_dir.mkdir(parents=True)
    path = bench.options.claims_dir / "u1.json"
    path.touch()

    assert RecordStore(bench.options.claims_dir).load(ClaimUid("u1")) is None
    bench.restart()

    assert bench.leftovers() == []


def test_the_census_sees_every_change_of_a_record_that_it_remembers(store: RecordStore) -> None:
    completed = RECORD.in_state(State.COMPLETED)
    store.save(completed)
    first = store.census().records

    store.note(completed.in_state(State.UNDOING))
    second = store.census().records
    store.remove(RECORD.uid)

    assert first == (completed,)
    assert second == (completed.in_state(State.UNDOING),)
    assert store.census().records == ()
