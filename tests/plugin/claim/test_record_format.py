"""The form of a record on disk: earlier records stay readable, and earlier versions read what is written."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from older_versions import RECORDS
from records_before_seals import read_before_seals

from plugin.base.errors import RecordTooNew
from plugin.claim.record import Record
from plugin.claim.record_format import START, Corrupt, decode, encode, seal_of
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.registry import ClaimedDevice
from plugin.kinds.whole_gpus.gpu_partition import ClaimedGpuPartition
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from scheduler_core.model.claim import ClaimUid

UID = ClaimUid("u1")
MIG = ClaimedMigPartition(
    requests=("train",),
    pool="node-1",
    device="gpu-0-mig-3g-20gb-4-7",
    cdi_id="tangram.dev/claim=u1-gpu-0-mig-3g-20gb-4-7",
    parent_uuid="GPU-1",
    profile_id=9,
    start=4,
    size=4,
)


def record(state: State, *devices: ClaimedDevice) -> Record:
    return Record(
        claim_uid=UID,
        namespace="default",
        name="train",
        driver="tangram.dev",
        boot_id="boot-1",
        state=state,
        devices=devices,
    )


def line(version: int, checksum: str, state: str, devices: str) -> bytes:
    claim = (
        '{"claim_uid":"u1","namespace":"default","name":"train","driver":"tangram.dev","boot_id":"boot-1",'
        f'"state":"{state}","devices":{devices}}}'
    )
    return f'{{"version":{version},"checksum":"{checksum}","claim":{claim}}}\n'.encode()


# As earlier versions of the plugin wrote them.
WRITTEN = {
    "placeholder": (
        record(State.STARTED),
        line(
            1,
            "9a63f23c671cf77ce408b0a502eb6b18b44ac24a49fc767b6000da919b453989",
            "started",
            "[]",
        ),
    ),
    "whole GPU": (
        record(
            State.COMPLETED,
            ClaimedGpu(
                requests=("train",),
                pool="node-1",
                device="gpu-1",
                cdi_id="tangram.dev/claim=u1-gpu-1",
                gpu_uuid="GPU-2",
            ),
        ),
        line(
            1,
            "5f8b0a70aaf4acbc967f950e3c9a55eaa997dcd12b98b08f90f244d5db92265e",
            "completed",
            '[{"kind":"gpu","requests":["train"],"pool":"node-1","device":"gpu-1","cdi_id":"tangram.d'
            'ev/claim=u1-gpu-1","gpu_uuid":"GPU-2"}]',
        ),
    ),
    "partition": (
        record(
            State.COMPLETED,
            ClaimedGpuPartition(
                requests=("train",),
                pool="node-1",
                device="gpus-0-1",
                cdi_id="tangram.dev/claim=u1-gpus-0-1",
                gpu_uuids=("GPU-1", "GPU-2"),
            ),
        ),
        line(
            2,
            "8a8e735b217507bc39941e01bc76d0c63978724018e353971a12ce84798c6498",
            "completed",
            '[{"kind":"gpus","requests":["train"],"pool":"node-1","device":"gpus-0-1","cdi_id":"tangr'
            'am.dev/claim=u1-gpus-0-1","gpu_uuids":["GPU-1","GPU-2"]}]',
        ),
    ),
    "planned MIG partition": (
        record(State.STARTED, MIG),
        line(
            1,
            "20082e5ffdaaba24903d5431513bfaa873529f7892b92eee6d5ebdd8512b3a1e",
            "started",
            '[{"kind":"mig","requests":["train"],"pool":"node-1","device":"gpu-0-mig-3g-20gb-4-7","cd'
            'i_id":"tangram.dev/claim=u1-gpu-0-mig-3g-20gb-4-7","parent_uuid":"GPU-1","profile_id":9,'
            '"start":4,"size":4,"gi_id":null,"ci_id":null,"mig_uuid":null}]',
        ),
    ),
    "MIG partition": (
        record(State.UNDOING, msgspec.structs.replace(MIG, gi_id=1, ci_id=0, mig_uuid="MIG-1")),
        line(
            1,
            "430b7a07e2f4cc7816418759337643527425d4b1c184e2a18732db262bd718b8",
            "undoing",
            '[{"kind":"mig","requests":["train"],"pool":"node-1","device":"gpu-0-mig-3g-20gb-4-7","cd'
            'i_id":"tangram.dev/claim=u1-gpu-0-mig-3g-20gb-4-7","parent_uuid":"GPU-1","profile_id":9,'
            '"start":4,"size":4,"gi_id":1,"ci_id":0,"mig_uuid":"MIG-1"}]',
        ),
    ),
    "admin access": (
        record(State.STARTED, msgspec.structs.replace(MIG, admin_access=True)),
        line(
            3,
            "1e2a8c9d8a636f44ffdd82f9aabfe3d5623b19473dd3b6991f4d9ff3aab229e8",
            "started",
            '[{"kind":"mig","requests":["train"],"pool":"node-1","device":"gpu-0-mig-3g-20gb-4-7","cd'
            'i_id":"tangram.dev/claim=u1-gpu-0-mig-3g-20gb-4-7","admin_access":true,"parent_uuid":"GP'
            'U-1","profile_id":9,"start":4,"size":4,"gi_id":null,"ci_id":null,"mig_uuid":null}]',
        ),
    ),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_record_of_every_kind_is_read_and_but_for_the_seal_written_as_earlier_versions_wrote_it(
    kind: str,
) -> None:
    found, written = WRITTEN[kind]
    line = encode(found)

    assert decode(written, UID).record == found
    assert line.replace(f',"seal":"{seal_of(line)}"'.encode(), b"") == written


FIRST = (RECORDS / "1/mig/record.json").read_bytes()
"""A record as the first versions wrote it: over several lines."""


def test_a_record_of_the_first_format_is_read_and_goes_on_with_lines() -> None:
    reading = decode(FIRST, UID)
    undoing = reading.record.in_state(State.UNDOING)

    again = decode(FIRST + encode(undoing, reading.seal), UID)

    assert reading.record.state is State.COMPLETED
    assert (reading.has_end, reading.torn, reading.length) == (True, 0, len(FIRST))
    assert again.record == undoing


def test_no_changed_byte_of_a_record_of_the_first_format_makes_another_record() -> None:
    record = decode(FIRST, UID).record
    for at in range(len(FIRST)):
        for changed in (FIRST[at] ^ 1, 0, ord("\n"), ord(" ")):
            data = FIRST[:at] + bytes((changed,)) + FIRST[at + 1 :]
            try:
                assert decode(data, UID).record == record, data
            except (Corrupt, RecordTooNew):
                continue


texts = st.text(min_size=1, max_size=8)
common = {"requests": st.tuples(texts), "pool": texts, "device": texts, "cdi_id": texts}
numbers = st.none() | st.integers(min_value=0, max_value=99)
devices = st.one_of(
    st.builds(ClaimedGpu, gpu_uuid=texts, **common),
    st.builds(ClaimedGpuPartition, gpu_uuids=st.tuples(texts, texts), **common),
    st.builds(
        ClaimedMigPartition,
        parent_uuid=texts,
        profile_id=st.integers(min_value=0, max_value=99),
        start=st.integers(min_value=0, max_value=7),
        size=st.integers(min_value=1, max_value=8),
        gi_id=numbers,
        ci_id=numbers,
        mig_uuid=st.none() | texts,
        **common,
    ),
)


@given(held=st.lists(devices, max_size=3))
def test_every_record_comes_back_from_its_line_and_the_last_line_counts(held: list[ClaimedDevice]) -> None:
    started = record(State.STARTED, *held)
    undoing = started.in_state(State.UNDOING)

    first = encode(started)
    assert decode(first, UID).record == started
    assert decode(first + encode(undoing, seal_of(first)), UID).record == undoing


@given(held=st.lists(devices, max_size=3))
def test_the_version_before_reads_what_this_one_writes(held: list[ClaimedDevice]) -> None:
    started = record(State.STARTED, *held)
    first = encode(started)
    undoing = started.in_state(State.UNDOING)

    assert read_before_seals(first, UID) == started
    assert read_before_seals(first + encode(undoing, seal_of(first)), UID) == undoing


@given(held=st.lists(devices, max_size=3), order=st.lists(st.booleans(), min_size=2, max_size=5))
def test_lines_of_both_versions_may_follow_each_other(held: list[ClaimedDevice], order: list[bool]) -> None:
    data, before = b"", START
    for has_seal in order:
        line = encode(record(State.STARTED, *held), before)
        if not has_seal:
            line = line.replace(f',"seal":"{seal_of(line)}"'.encode(), b"")
        data += line
        before = decode(data, UID).seal

    assert decode(data, UID).record == record(State.STARTED, *held)


@given(held=st.lists(devices, min_size=1, max_size=3))
def test_a_record_without_its_instances_is_its_plan_again(held: list[ClaimedDevice]) -> None:
    planned = [device.as_planned() for device in held]

    assert [device.as_planned() for device in planned] == planned
    assert [(one.device, one.lock_targets, one.hardware) for one in planned] == [
        (one.device, one.lock_targets, one.hardware) for one in held
    ]
