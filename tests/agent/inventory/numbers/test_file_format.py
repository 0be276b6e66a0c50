"""The file of numbers: no byte of it can change without being noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.inventory.numbers.file_format import Damaged, decode, encode

NUMBERS = {f"0000:{bus:02x}:00.0": number for number, bus in enumerate((0x07, 0x0F, 0x47, 0x4E))}
FILE = encode("node-1", NUMBERS)
ADDRESSES = st.builds(
    "{:04x}:{:02x}:{:02x}.{}".format, st.integers(0, 0x1FFFF), *[st.integers(0, 31)] * 2, st.integers(0, 7)
)


def damages(data):
    """Yield each byte flipped, zeroed and cut, and each line twice."""
    for at in range(len(data)):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        yield data[:at] + b"\0" + data[at + 1 :]
        yield data[:at]
    lines = data.splitlines(keepends=True)
    for at in range(len(lines)):
        yield b"".join([*lines[: at + 1], *lines[at:]])


def test_a_file_says_what_was_written():
    assert decode("node-1", FILE) == NUMBERS


@given(st.dictionaries(ADDRESSES, st.integers(0, 9999)))
def test_any_numbers_are_read_as_they_were_written(numbers):
    unique = {bdf: number for number, bdf in {number: bdf for bdf, number in numbers.items()}.items()}

    assert decode("a", encode("a", unique)) == unique


def test_every_damaged_byte_is_noticed():
    found = list(damages(FILE))

    assert len(found) > 3 * len(FILE)
    for one in found:
        with pytest.raises(Damaged):
            decode("node-1", one)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        encode("node-1", {"0000:01:00.0": -1}),
        encode("node-1", {"0000:01:00.0": 10_000}),
        encode("node-1", {"0000:01:00.0": 1, "0000:02:00.0": 1}),
        encode("node-1", {"0000:1:0.0": 1}),
        encode("node-1", {"00000000:01:00.0": 1}),
        FILE.replace(b'"version": 1', b'"version": 2'),
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_no_program_of_ours_wrote_is_refused(data):
    with pytest.raises(Damaged):
        decode("node-1", data)


def test_the_file_of_another_node_is_refused():
    with pytest.raises(Damaged, match="node-1"):
        decode("node-2", FILE)
