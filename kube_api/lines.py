"""Splits what arrives over a connection into lines. Pure: takes pieces of bytes; returns whole lines.

Every byte is read once and copied at most once, however many pieces a line has. A line has a limit.
"""

from __future__ import annotations

from collections.abc import Iterator


class LineTooLong(Exception):
    """A line is longer than allowed. Units: ``limit`` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"a line is longer than {limit} bytes")


class LineSplitter:
    """Holds the beginning of the line that is not complete yet."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def split(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that ``chunk`` completes, without their newlines. Raises: LineTooLong."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._add(end)
            yield b"".join(self._pieces)
            self._pieces, self._size = [], 0
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            raise LineTooLong(self._limit)
        if piece:
            self._pieces.append(piece)
