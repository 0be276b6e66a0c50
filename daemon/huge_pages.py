"""Puts what a program loaded at its start into huge pages, where the kernel can (Linux 6.1 and newer).

A program that is asked once a second finds its memory's addresses forgotten by the processor each time, and a
call of Python touches hundreds of pages. In huge pages these are a dozen. Only memory that is in use nearly
as a whole is chosen, so hardly any is added. Nothing else changes: contents and addresses stay.
Source: madvise(2), MADV_COLLAPSE.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HUGE_BYTES: Final = 2 << 20
"""A huge page of x86-64, and of arm64 with pages of 4 KiB."""
_MADV_COLLAPSE: Final = 25
_IN_USE: Final = 0.75
"""Which part of a mapping must be in use already. Stacks of threads, of which little is, stay as they are."""
_MAPPING: Final = re.compile(
    r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) rw-p \S+ \S+ 0 *(?:\[heap\]|\[anon:.*\])?\n"
    r"(?:.*\n)*?Rss: +(?P<used>\d+) kB$",
    re.MULTILINE,
)


def put_heap_into_huge_pages() -> int:
    """Do it for all of the heap, and return how many bytes the kernel put there; 0 where it cannot."""
    try:
        mappings = Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace")
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return 0
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    put = [page for page in huge_pages(mappings) if madvise(page, HUGE_BYTES, _MADV_COLLAPSE) == 0]
    return HUGE_BYTES * len(put)


def huge_pages(mappings: str) -> Iterator[int]:
    """Yield the addresses where huge pages may lie, of a text as ``/proc/self/smaps`` has it."""
    for found in _MAPPING.finditer(mappings):
        start, end = int(found["start"], 16), int(found["end"], 16)
        if int(found["used"]) * 1024 >= _IN_USE * (end - start):
            first = -(-start // HUGE_BYTES) * HUGE_BYTES
            yield from range(first, end - HUGE_BYTES + 1, HUGE_BYTES)
