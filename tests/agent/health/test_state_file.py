"""The file of a node's health: what was wrong is known after a restart, and nothing damaged is believed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_health import FACTS, A, heard, read, start, well, xid

from agent.hardware.types import GpuUuid
from agent.health.causes import Cause
from agent.health.file_format import MOST_BYTES, Damaged, decode, encode
from agent.health.state import GpuMemory, HealthState, Key, Trouble
from agent.health.state_file import StateFile
from agent.inventory.numbers.shared_file import NotKept

_times = st.floats(0, 1e10)
_numbers = st.none() | st.integers(0, 2**32)
_keys = st.builds(
    Key,
    target=st.sampled_from([A, FACTS.gpus[A]]),
    cause=st.sampled_from(Cause),
    xid=_numbers,
    gi_id=_numbers,
    ci_id=_numbers,
)
_troubles = st.builds(Trouble, _times, _times, st.integers(1, 10**9), st.text(max_size=20))
_memories = st.builds(
    GpuMemory,
    bdf=st.just(FACTS.gpus[A]),
    is_away=st.booleans(),
    needs_recovery=st.booleans(),
    is_remap_pending=st.booleans(),
    ecc=st.integers(0, 10**6),
    links=st.frozensets(st.integers(0, 17)),
)
_states = st.builds(
    HealthState,
    st.text(max_size=10),
    st.dictionaries(_keys, _troubles, max_size=8),
    st.dictionaries(st.just(GpuUuid("GPU-a")), _memories, max_size=1),
)


@given(_states)
def test_what_is_written_is_read_again(state: HealthState) -> None:
    assert decode("node-1", encode("node-1", state)) == state


@given(st.integers(0, 10**4), st.integers(1, 255))
def test_a_byte_that_changed_is_noticed(place: int, change: int) -> None:
    data = bytearray(encode("node-1", read(heard(start(), xid(79)), well())))
    data[place % len(data)] ^= change
    with pytest.raises(Damaged):
        decode("node-1", bytes(data))


@given(st.binary(max_size=200))
def test_no_bytes_are_believed_that_were_not_written(data: bytes) -> None:
    with pytest.raises(Damaged):
        decode("node-1", data)


def test_a_file_of_another_node_is_refused() -> None:
    with pytest.raises(Damaged, match="node-2"):
        decode("node-1", encode("node-2", start()))


def test_a_file_is_replaced_and_its_identity_changes(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "health", "node-1")
    assert file.read() is None
    assert file.stamp() is None
    file.replace(start())
    before = file.stamp()
    file.replace(heard(start(), xid(79)))
    assert file.stamp() != before
    assert file.read() == heard(start(), xid(79))
    assert [one.name for one in file.folder.iterdir()] == ["node-1.json"]


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    file = StateFile(tmp_path, "node-1")
    file.path.write_bytes(b"{")
    with pytest.raises(Damaged):
        file.read()
    assert file.set_aside().read_bytes() == b"{"
    assert file.read() is None


def test_a_file_that_is_too_large_is_damaged(tmp_path: Path) -> None:
    file = StateFile(tmp_path, "node-1")
    with file.path.open("wb") as written:
        written.truncate(MOST_BYTES + 1)
    with pytest.raises(Damaged, match="larger"):
        file.read()


def test_a_folder_that_cannot_be_made_is_told_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "health").write_text("")
    with pytest.raises(NotKept, match=r"health/node-1\.json"):
        StateFile(tmp_path / "health", "node-1").replace(start())
