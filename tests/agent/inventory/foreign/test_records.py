"""The agent reads of records what finds an instance, and knows when a record may have said more."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest
from damaged_files import DAMAGES

from agent.inventory.foreign.record_folder import RecordFolder, RecordsUnknown
from agent.inventory.foreign.record_lines import digest as digest_of
from agent.inventory.foreign.records import Said, said_in
from plugin.claim.record import Record
from plugin.claim.record_format import encode, seal_of
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedComputeInstance, ClaimedMigPartition
from plugin.kinds.mig_partition.under_mps import ClaimedMigUnderMps
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from plugin.options import Options

UID, BOOT = "u-1", "boot-1"
COMMON = {"requests": ("r",), "pool": "node-1", "device": "d", "cdi_id": "tangram.dev/claim=u-1-r"}
PLACE = {"parent_uuid": "GPU-a", "profile_id": 19, "start": 2, "size": 1}
PLANNED = (
    ClaimedMigPartition(**COMMON, **PLACE),
    ClaimedMigUnderMps(**COMMON, **PLACE),
    ClaimedComputeInstance(**COMMON, **PLACE, compute_start=1, compute_size=2),
)


def record(*devices, state=State.STARTED):
    return Record(
        claim_uid=UID, namespace="default", name="c", driver="tangram.dev", boot_id=BOOT, state=state,
        devices=devices,
    )  # fmt: skip


def written(*records):
    """Return the file that the plugin writes, line by line."""
    lines = [encode(records[0])]
    for one in records[1:]:
        lines.append(encode(one, seal_of(lines[-1])))
    return b"".join(lines)


def life_of(planned):
    """Return the file of a claim that was prepared: each fact is a line of its own."""
    noted = msgspec.structs.replace(planned, gi_id=3)
    made = msgspec.structs.replace(noted, ci_id=0, mig_uuid="MIG-1")
    return written(record(), record(planned), record(noted), record(made, state=State.COMPLETED)), made


def identities(held):
    return [(one.spec, one.place, one.gi_id, one.mig_uuid) for one in held]


@pytest.mark.parametrize("planned", PLANNED, ids=lambda one: type(one).__name__)
def test_it_says_of_each_kind_of_mig_device_what_the_plugin_wrote(planned):
    data, made = life_of(planned)

    said = said_in(data, UID, BOOT)

    assert identities(said.held) == identities([made])
    assert not said.is_damaged


@pytest.mark.parametrize("damage", sorted(DAMAGES.keys() - {"cut"}))
@pytest.mark.parametrize("planned", PLANNED, ids=lambda one: type(one).__name__)
def test_a_damaged_record_says_what_the_plugin_wrote_or_is_known_to_have_said_more(planned, damage):
    data, made = life_of(planned)
    for at in range(len(data)):
        said = said_in(DAMAGES[damage](data, at), UID, BOOT)
        assert said.is_damaged or identities(said.held) == identities([made]), at


@pytest.mark.parametrize("planned", PLANNED, ids=lambda one: type(one).__name__)
def test_a_record_that_was_cut_says_what_it_said_until_there(planned):
    data, made = life_of(planned)
    stages = [[], identities([planned]), identities([msgspec.structs.replace(planned, gi_id=3)])]

    found = [identities(said_in(data[:at], UID, BOOT).held) for at in range(len(data))]

    assert all(one in [*stages, identities([made])] for one in found)


def test_a_line_that_was_cut_off_while_it_was_written_is_no_damage():
    data, _ = life_of(PLANNED[0])
    *_, last = data.splitlines(keepends=True)

    said = said_in(data[: -len(last) // 2], UID, BOOT)

    assert not said.is_damaged
    assert [one.gi_id for one in said.held] == [3]


def test_an_earlier_boot_holds_nothing_and_neither_does_admin_access_nor_another_kind_of_device():
    looked_at = msgspec.structs.replace(PLANNED[0], admin_access=True, mig_uuid="MIG-1", gi_id=1)
    whole = ClaimedGpu(**COMMON, gpu_uuid="GPU-a")

    assert said_in(written(record(PLANNED[0])), UID, "boot-2") == Said()
    assert said_in(written(record(looked_at, whole)), UID, BOOT) == Said()


def test_the_record_of_a_newer_version_is_understood_as_far_as_it_finds_instances():
    newer = msgspec.json.decode(msgspec.json.encode(record(PLANNED[0])))
    newer["devices"][0] |= {"kind": "mig-of-tomorrow", "color": "green"}
    payload = msgspec.json.encode(newer)
    known = encode(record(PLANNED[0]))
    digest = msgspec.json.decode(known)["checksum"].encode()
    line = known.replace(msgspec.json.encode(record(PLANNED[0])), payload)
    line = line.replace(digest, digest_of(payload).encode()).replace(b'"version":1', b'"version":9')

    assert identities(said_in(line, UID, BOOT).held) == identities([PLANNED[0]])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plugins/tangram.dev/claims").mkdir(parents=True)
    return RecordFolder.of(tmp_path, "tangram.dev")


def test_the_folder_is_the_plugins():
    kubelet_dir = Path("/var/lib/kubelet")
    options = Options(driver_name="tangram.dev", node_name="node-1", kubelet_dir=kubelet_dir)
    assert RecordFolder.of(kubelet_dir, "tangram.dev").path == options.claims_dir


def test_all_records_count_and_half_written_files_and_set_aside_ones_do_not(folder):
    data, _ = life_of(PLANNED[0])
    (folder.path / f"{UID}.json").write_bytes(data)
    (folder.path / "u-2.json").write_bytes(b"")
    for name in (f".{UID}.json.tmp", "u-3.json.corrupt", "notes"):
        (folder.path / name).write_bytes(b"garbage\n")

    found = folder.read(BOOT)

    assert [one.mig_uuid for one in found.held] == ["MIG-1"]
    assert found.damaged == ()


def test_what_cannot_be_read_may_have_said_something(folder):
    (folder.path / "u-2.json").mkdir()
    (folder.path / "u-3.json").write_bytes(b"garbage\n")

    assert folder.read(BOOT).damaged == ("u-2", "u-3")


def test_without_the_folder_or_the_right_to_read_it_nothing_is_known(folder, tmp_path, monkeypatch):
    with pytest.raises(RecordsUnknown, match="No such file"):
        RecordFolder(tmp_path / "nowhere").read(BOOT)

    (folder.path / "u-1.json").write_bytes(b"")

    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(RecordsUnknown, match=r"u-1\.json cannot be read: Permission denied"):
        folder.read(BOOT)
