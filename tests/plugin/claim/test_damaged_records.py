"""Every byte of the records of every kind, damaged in each way: none says less than what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from damaged_files import DAMAGES, cut, double, flip, zero
from devices_of_kinds import example_of
from records_before_seals import line_before_seals

from plugin.claim.quarantine.evidence import evidence
from plugin.claim.record import Record
from plugin.claim.record_format import START, Corrupt, decode, encode, seal_of
from plugin.claim.states import State
from plugin.kinds.kind import PreparableKind
from plugin.kinds.mig_partition.kind import MigPartitionKind
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from scheduler_core.model.claim import ClaimUid

UID = ClaimUid("u1")
MIG = next(kind for kind in KINDS.preparable if isinstance(kind, MigPartitionKind))


def named(value: object) -> str | None:
    return type(value).__name__ if isinstance(value, PreparableKind) else None


@pytest.fixture
def folder(used_folder: Path) -> Path:
    return used_folder


@pytest.fixture
def written(bench_of_kind: Any, kind: AnyKind) -> Iterator[bytes]:
    """The file of a claim that has the example of the kind."""
    example = example_of(kind)
    bench_of_kind.driver.prepare(bench_of_kind.claim("u1", example.device, configs=example.configs))
    yield (bench_of_kind.options.claims_dir / "u1.json").read_bytes()
    bench_of_kind.unprepare("u1")


def states_of(data: bytes) -> list[Record]:
    """Return the records of all lines of a file that is sound."""
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    return [decode(data[:end], UID).record for end in ends]


def as_before_seals(data: bytes) -> bytes:
    """Return a file as the version before would have written it."""
    return b"".join(map(line_before_seals, states_of(data)))


def believed(data: bytes) -> Record | None:
    try:
        return decode(data, UID).record
    except Corrupt:
        return None


def held(record: Record | None) -> set[object]:
    return set() if record is None else {device.hardware for device in record.devices}


def judge(damaged: bytes, last: Record, *, is_cut: bool) -> None:
    """Check one damage. A record that was cut has a document beside it, by which that is noticed."""
    found = believed(damaged)
    assert found is None or found == last or (is_cut and found.state is State.STARTED)


@pytest.mark.parametrize("form", [lambda data: data, as_before_seals], ids=["sealed", "before seals"])
@pytest.mark.parametrize("kind", KINDS.preparable, ids=named)
def test_no_damaged_byte_of_a_prepared_claim_makes_it_read_as_less_than_it_is(
    written: bytes, form: Callable[[bytes], bytes], kind: AnyKind
) -> None:
    data = form(written)
    last = decode(data, UID).record
    assert last.state is State.COMPLETED

    for at in range(len(data)):
        for damage in (flip, zero, cut):
            judge(damage(data, at), last, is_cut=damage is cut)
        if believed(flip(data, at)) is None:
            assert held(evidence(flip(data, at), UID).record) == held(last)
    for at in (at for at, byte in enumerate(data) if byte == ord("\n")):
        judge(double(data, at), last, is_cut=data is not written)


@pytest.mark.parametrize("kind", [MIG], ids=named)
def test_no_damaged_byte_of_a_sealed_record_is_believed(written: bytes) -> None:
    last = decode(written, UID).record

    believed_at = [
        (name, at)
        for name, damage in DAMAGES.items()
        if damage is not cut
        for at in range(len(written))
        if believed(damage(written, at)) is not None
    ]

    assert believed_at == []
    assert believed(written[:-1]) == last, "a line is whole without its newline"


@pytest.mark.parametrize("kind", [MIG], ids=named)
def test_no_single_damage_makes_a_record_too_new(written: bytes) -> None:
    """RecordTooNew would pass through ``believed``."""
    for damage in DAMAGES.values():
        for at in range(len(written)):
            believed(damage(written, at))


def test_a_line_that_was_lost_or_moved_is_noticed() -> None:
    records = [record(gi_id) for gi_id in (None, 1, 2)]
    lines, before = [], START
    for one in records:
        lines.append(encode(one, before))
        before = seal_of(lines[-1])
    first, second, third = lines

    assert believed(first + second + third) == records[2]
    for changed in (first + third, second + third, third, second + first + third, first + third + second):
        assert believed(changed) is None
    assert believed(first + second) == records[1], "what is cut at a line's end is noticed by the document"


def record(gi_id: int | None) -> Record:
    device = MIG.claimed(
        requests=("r",),
        pool="node-1",
        device="gpu-0-mig-1g-5gb-0",
        cdi_id="tangram.dev/claim=u1-gpu-0-mig-1g-5gb-0",
        parent_uuid="GPU-1",
        profile_id=19,
        start=0,
        size=1,
        gi_id=gi_id,
    )
    return Record(
        claim_uid=UID,
        namespace="default",
        name="claim-u1",
        driver="tangram.dev",
        boot_id="boot-1",
        state=State.STARTED,
        devices=(device,),
    )


def test_evidence_is_found_whatever_the_ends_of_lines_have_become() -> None:
    first = encode(record(None))
    data = (first + encode(record(1), seal_of(first))).replace(b"\n", b"#")

    found = evidence(data, UID)

    assert found.record == record(1)
    assert (found.ref, found.boot_id) == (record(1).ref, "boot-1")


def test_nothing_is_known_from_the_record_of_another_claim() -> None:
    assert evidence(encode(record(1)), ClaimUid("u2")).record is None


def test_of_a_record_of_a_newer_plugin_the_names_are_known() -> None:
    newer = encode(record(1)).replace(b'"kind":"mig"', b'"kind":"of next year"')
    claim = newer[newer.index(b'"claim":') + len(b'"claim":') : newer.index(b',"seal":')]
    stored = newer.replace(newer[newer.index(b'"checksum":"') + 12 :][:64], digest_of(claim))

    found = evidence(stored, UID)

    assert (found.record, found.names) == (None, {"gpu-0-mig-1g-5gb-0"})


def digest_of(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
