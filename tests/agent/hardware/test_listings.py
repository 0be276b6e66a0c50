"""A listing tells every change of a folder's entries, also in the form for older C libraries."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.hardware.reuse import listings
from agent.hardware.reuse.listings import listing, numbered, recorded

FORMS = [recorded, numbered]


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def of(form: Callable[[int], object], folder: Path) -> object:
    with opened(folder) as descriptor:
        return form(descriptor)


@pytest.mark.parametrize("form", FORMS)
def test_an_unchanged_folder_has_the_same_listing_also_with_thousands_of_entries(
    form: Callable[[int], object], tmp_path: Path
) -> None:
    for number in range(3000):
        os.symlink("anything", tmp_path / f"0000:{number >> 8:02x}:{number & 255:02x}.0")

    assert of(form, tmp_path) == of(form, tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_an_entry_that_comes_goes_or_gets_another_name_is_another_listing(
    form: Callable[[int], object], tmp_path: Path
) -> None:
    seen = [of(form, tmp_path)]
    (tmp_path / "eth0").symlink_to("anything")
    seen.append(of(form, tmp_path))
    (tmp_path / "eth0").rename(tmp_path / "eth1")
    seen.append(of(form, tmp_path))
    (tmp_path / "eth1").unlink()

    assert all(one != another for one, another in itertools.pairwise(seen))
    assert of(form, tmp_path) == seen[0]


@pytest.mark.parametrize("form", FORMS)
def test_another_entry_under_the_same_name_is_another_listing(
    form: Callable[[int], object], tmp_path: Path
) -> None:
    (tmp_path / "eth0").symlink_to("anything")
    (tmp_path / "other").symlink_to("anything")
    before = of(form, tmp_path)
    (tmp_path / "other").rename(tmp_path / "eth0")
    (tmp_path / "other").symlink_to("anything")

    assert of(form, tmp_path) != before


def test_both_forms_tell_the_same_entries(tmp_path: Path) -> None:
    for name in ("eth0", "ib0", "über"):
        (tmp_path / name).symlink_to("anything")
    with opened(tmp_path) as descriptor:
        numbers = numbered(descriptor)
    with opened(tmp_path) as descriptor:
        records = recorded(descriptor)

    assert numbers == {name: os.lstat(tmp_path / name).st_ino for name in ("eth0", "ib0", "über")}
    for name, number in numbers.items():
        assert name.encode() + b"\0" in records
        assert number.to_bytes(8, sys.byteorder) in records


def test_a_folder_whose_reading_fails_equals_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(listings, "_entries", fails)

    assert listing(tmp_path) != listing(tmp_path)


def test_a_file_that_is_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        with pytest.raises(NotADirectoryError):
            recorded(descriptor)
    finally:
        os.close(descriptor)
