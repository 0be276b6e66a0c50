"""What shared libraries say of themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from elf_files import AARCH64, I386, X86_64, shared_object
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.driver.elf import SharedLibrary, shared_library

WHOLE = shared_object("libcuda.so.1")


def said(tmp_path: Path, content: bytes) -> SharedLibrary | None:
    file = tmp_path / "library"
    file.write_bytes(content)
    return shared_library(file)


@pytest.mark.parametrize(("number", "machine"), [(X86_64, "x86_64"), (AARCH64, "aarch64"), (21, None)])
def test_a_library_says_its_machine_and_its_soname(tmp_path: Path, number: int, machine: str | None) -> None:
    assert said(tmp_path, shared_object("libx.so.4", number)) == SharedLibrary(machine, "libx.so.4")


def test_a_library_without_a_soname_has_none(tmp_path: Path) -> None:
    assert said(tmp_path, shared_object()) == SharedLibrary("x86_64", None)


def test_a_library_for_32_bits_is_for_no_machine_of_ours(tmp_path: Path) -> None:
    assert said(tmp_path, shared_object("libx.so.1", I386, bits=32)) == SharedLibrary(None, None)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"a text", WHOLE[:100]])
def test_what_is_no_whole_elf_file_says_nothing(tmp_path: Path, content: bytes) -> None:
    assert said(tmp_path, content) is None


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert shared_library(tmp_path / "gone") is None
    assert shared_library(tmp_path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the files of a Linux system")
def test_libraries_of_this_system_say_the_names_by_which_they_are_loaded() -> None:
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    libc = next(path for path in mapped if "/libc.so" in path)

    found = shared_library(Path(libc))

    assert found is not None
    assert found.soname == "libc.so.6"


@given(
    damages=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8),
    length=st.integers(0, len(WHOLE)),
)
def test_a_damaged_library_is_read_to_an_end(
    tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[int, int]], length: int
) -> None:
    content = bytearray(WHOLE)
    for at, value in damages:
        content[at] = value
    file = tmp_path_factory.getbasetemp() / "damaged"
    file.write_bytes(content[:length])

    found = shared_library(file)

    assert found is None or found.soname is None or "/" not in found.soname
