"""What a program loaded at its start lies in huge pages, where the kernel can; stacks stay as they are."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.huge_pages import HUGE_BYTES, huge_pages

_MIB = 1 << 20
_CAN = tuple(map(int, platform.release().split(".")[:2])) >= (6, 1)
_HAS_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage").exists()


def mapping(
    start: int, size: int, used: int, *, rights: str = "rw-p", of: str = "00:00 0", name: str = ""
) -> str:
    head = f"{start:x}-{start + size:x} {rights} 00000000 {of}    {name}".rstrip(" ") + (
        " " if not name else ""
    )
    lines = (
        f"Size: {size // 1024} kB",
        "KernelPageSize: 4 kB",
        f"Rss: {used // 1024} kB",
        f"Pss: {used // 1024} kB",
    )
    return "\n".join((head, *lines, "VmFlags: rd wr mr mw me ac")) + "\n"


def test_all_huge_pages_within_a_mapping_that_is_in_use_are_chosen() -> None:
    start = 100 * HUGE_BYTES + 4096

    found = list(huge_pages(mapping(start, 3 * HUGE_BYTES, 3 * HUGE_BYTES)))

    assert found == [101 * HUGE_BYTES, 102 * HUGE_BYTES]


@pytest.mark.parametrize("name", ["[heap]", "[anon:cpython:pymalloc]"])
def test_a_heap_that_has_a_name_is_chosen_too(name: str) -> None:
    found = list(huge_pages(mapping(HUGE_BYTES, HUGE_BYTES, HUGE_BYTES, name=name)))

    assert found == [HUGE_BYTES]


OTHERS = {
    "the stack of a thread": mapping(HUGE_BYTES, 8 * _MIB, 64 * 1024),
    "the stack of the process": mapping(HUGE_BYTES, 8 * _MIB, 8 * _MIB, name="[stack]"),
    "code": mapping(HUGE_BYTES, 8 * _MIB, 8 * _MIB, rights="r-xp", of="08:01 77", name="/usr/lib/a.so"),
    "a file": mapping(HUGE_BYTES, 8 * _MIB, 8 * _MIB, of="08:01 77", name="/var/lib/file"),
    "shared memory": mapping(HUGE_BYTES, 8 * _MIB, 8 * _MIB, rights="rw-s"),
    "less than a huge page": mapping(HUGE_BYTES, _MIB, _MIB),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_other_mappings_stay_as_they_are(other: str) -> None:
    heap = mapping(500 * HUGE_BYTES, HUGE_BYTES, HUGE_BYTES)

    assert list(huge_pages(other + heap + other)) == [500 * HUGE_BYTES]


@pytest.mark.skipif(not (_CAN and _HAS_HUGE_PAGES), reason="the kernel has no MADV_COLLAPSE or no huge pages")
def test_a_program_keeps_its_data_and_gets_hardly_more_memory() -> None:
    program = (
        "from pathlib import Path\n"
        "from daemon.huge_pages import put_heap_into_huge_pages\n"
        "def of(name):\n"
        "    lines = Path('/proc/self/smaps_rollup').read_text().splitlines()\n"
        "    return int(next(line for line in lines if line.startswith(name + ':')).split()[1]) << 10\n"
        "data = [[number] for number in range(300_000)]\n"
        "before = of('Rss')\n"
        "put = put_heap_into_huge_pages()\n"
        "whole = all(one == [number] for number, one in enumerate(data))\n"
        "print(put, of('AnonHugePages'), of('Rss') - before, whole)\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    put, huge, more, whole = ended.stdout.split()
    assert int(put) == int(huge) >= HUGE_BYTES
    assert int(more) < 4 * _MIB
    assert whole == "True"
