"""Makes shared objects with nothing in them but what a loader reads to know them: machine and SONAME."""

from __future__ import annotations

import struct

X86_64, AARCH64, I386 = 62, 183, 3
_HEADER, _PROGRAM_HEADER, _ENTRY = 64, 56, 16
_SHARED_OBJECT = 3
_LOADED, _DYNAMIC = 1, 2
_END, _TEXTS, _SONAME = 0, 5, 14
_ADDRESS = 0x1000


def shared_object(soname: str | None = None, machine: int = X86_64, bits: int = 64) -> bytes:
    """Return the bytes of a shared object, whose addresses differ from its offsets."""
    entries = [(_TEXTS, 0), *([(_SONAME, 1)] if soname else []), (_END, 0)]
    dynamic_at = _HEADER + 2 * _PROGRAM_HEADER
    texts_at = dynamic_at + len(entries) * _ENTRY
    texts = b"\0" + (soname or "").encode() + b"\0"
    size = texts_at + len(texts)
    entries[0] = (_TEXTS, texts_at + _ADDRESS)
    segments = (
        struct.pack("<IIQQQQQQ", _LOADED, 4, 0, _ADDRESS, _ADDRESS, size, size, 0x1000),
        struct.pack(
            "<IIQQQQQQ", _DYNAMIC, 4, dynamic_at, dynamic_at + _ADDRESS, 0, texts_at - dynamic_at, 0, 8
        ),
    )
    ident = b"\x7fELF" + bytes((bits // 32, 1, 1)) + bytes(9)
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", _SHARED_OBJECT, machine, 1, 0, _HEADER, 0, 0, _HEADER, _PROGRAM_HEADER, 2, 0, 0, 0
    )
    return header + b"".join(segments) + b"".join(struct.pack("<qQ", *entry) for entry in entries) + texts
