"""Lines are put together in linear time, from any pieces, and none is longer than allowed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_api.lines import LineSplitter, LineTooLong


def split(chunks: list[bytes], limit: int = 10**9) -> list[bytes]:
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.split(chunk)]


@given(st.lists(st.text("ab\n", max_size=6)))
def test_lines_are_the_same_whatever_pieces_they_come_in(pieces: list[str]) -> None:
    whole = "".join(pieces)

    assert [one.decode() for one in split([piece.encode() for piece in pieces])] == whole.split("\n")[:-1]


@given(st.lists(st.integers(1, 5), min_size=1))
def test_a_line_of_the_limit_passes_and_one_byte_more_does_not(sizes: list[int]) -> None:
    pieces = [b"x" * size for size in sizes]

    assert split([*pieces, b"\n"], sum(sizes)) == [b"x" * sum(sizes)]
    with pytest.raises(LineTooLong):
        split(pieces, sum(sizes) - 1)


class Counted(bytes):
    """Bytes that count how many bytes every operation on them looks at or copies."""

    work = 0

    def split(self, *arguments: Any) -> list[bytes]:
        Counted.work += len(self)
        return [Counted(one) for one in super().split(*arguments)]

    def __add__(self, other: bytes) -> bytes:
        Counted.work += len(self) + len(other)
        return Counted(super().__add__(other))

    def __radd__(self, other: bytes) -> bytes:
        Counted.work += len(self) + len(other)
        return Counted(other + bytes(self))


def test_sixty_four_megabytes_without_a_newline_are_looked_at_once() -> None:
    chunk = Counted(b"x" * 64 * 1024)
    Counted.work = 0

    (line,) = split([chunk] * 1024 + [Counted(b"\n")])

    assert len(line) == 64 * 1024 * 1024
    assert Counted.work <= len(line) + 1
