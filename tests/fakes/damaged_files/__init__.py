"""What a disk, a crash or somebody's editor does to a file at one byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Damage = Callable[[bytes, int], bytes]


def flip(data: bytes, at: int) -> bytes:
    """Flip one bit of a byte, another one at each place."""
    return data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]


def zero(data: bytes, at: int) -> bytes:
    return data[:at] + b"\0" + data[at + 1 :]


def cut(data: bytes, at: int) -> bytes:
    """Lose everything from a byte on."""
    return data[:at]


def double(data: bytes, at: int) -> bytes:
    """Write the line that has the byte once more at the end."""
    start, end = data.rfind(b"\n", 0, at) + 1, data.index(b"\n", at) + 1
    return data + data[start:end]


DAMAGES: Mapping[str, Damage] = {"flip": flip, "zero": zero, "cut": cut, "double": double}


def places(data: bytes) -> list[int]:
    """Return a byte of each part of each line: the version, the record, what ends the line."""
    found, start = [], 0
    for line in data.splitlines(keepends=True):
        found += [start + len(b'{"version":'), start + len(line) // 2, start + len(line) - 1]
        start += len(line)
    return found
