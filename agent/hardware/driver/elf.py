"""What a shared library says of itself: for which machines it is, and the name by which programs load it.

Takes the path of a file; returns a value, None for a file that is no whole ELF file. Only the few places are
read that the loader reads, too. Source: System V ABI, chapters "ELF Header", "Program Header" and "Dynamic
Section".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

_MAGIC: Final = b"\x7fELF"
_64_BIT, _LITTLE_ENDIAN = 2, 1
_HEADER: Final = struct.Struct("<16xHHIQQQIHHH")
_LEAST: Final = 52
"""Bytes of the header of a file for 32 bits."""
_PROGRAM_HEADER: Final = struct.Struct("<IIQQQQQQ")
_ENTRY: Final = struct.Struct("<qQ")
_LOADED, _DYNAMIC = 1, 2
_END, _TEXTS, _SONAME = 0, 5, 14
_MACHINES: Final = {62: "x86_64", 183: "aarch64"}
_MOST_HEADERS: Final = 64
_MOST_ENTRIES: Final = 1024
_LONGEST_NAME: Final = 256
_NAME: Final = re.compile(rb"[A-Za-z0-9_.+-]+")


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """One ELF file.

    Shape: ``machine`` as uname names it, None for those that no NVIDIA data center driver is for, and for 32
           bits; ``soname`` None where it has none.
    """

    machine: str | None
    soname: str | None


def shared_library(path: Path) -> SharedLibrary | None:
    """Return what a file says of itself, None where it cannot be read or is no whole ELF file."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except (OSError, ValueError, struct.error):
        return None


def _read(file: BinaryIO) -> SharedLibrary | None:
    start = file.read(_HEADER.size)
    if start[:4] != _MAGIC or len(start) < _LEAST:
        return None
    if tuple(start[4:6]) != (_64_BIT, _LITTLE_ENDIAN):
        return SharedLibrary(machine=None, soname=None)
    _, machine, _, _, headers_at, _, _, _, size, count = _HEADER.unpack(start)
    segments = list(_segments(file, headers_at, size, min(count, _MOST_HEADERS)))
    return SharedLibrary(_MACHINES.get(machine), _soname(file, segments))


@dataclass(frozen=True, slots=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def _segments(file: BinaryIO, at: int, size: int, count: int) -> Iterator[_Segment]:
    for index in range(count):
        kind, _, offset, address, _, in_file, _, _ = _unpack(file, _PROGRAM_HEADER, at + index * size)
        yield _Segment(kind, offset, address, in_file)


def _soname(file: BinaryIO, segments: list[_Segment]) -> str | None:
    entries = dict(_entries(file, segments))
    texts, name = entries.get(_TEXTS), entries.get(_SONAME)
    if texts is None or name is None:
        return None
    offset = next((one.offset - one.address for one in segments if _has(one, texts)), 0)
    file.seek(texts + offset + name)
    found = _NAME.match(file.read(_LONGEST_NAME))
    return None if found is None else found[0].decode()


def _has(segment: _Segment, address: int) -> bool:
    return segment.kind == _LOADED and segment.address <= address < segment.address + segment.size


def _entries(file: BinaryIO, segments: list[_Segment]) -> Iterator[tuple[int, int]]:
    dynamic = next((one for one in segments if one.kind == _DYNAMIC), None)
    if dynamic is None:
        return
    for index in range(min(dynamic.size // _ENTRY.size, _MOST_ENTRIES)):
        tag, value = _unpack(file, _ENTRY, dynamic.offset + index * _ENTRY.size)
        if tag == _END:
            return
        yield tag, value


def _unpack(file: BinaryIO, form: struct.Struct, at: int) -> tuple[int, ...]:
    file.seek(at)
    return form.unpack(file.read(form.size))
