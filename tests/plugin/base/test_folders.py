"""The folders of a start: all usable, or nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from plugin.base.errors import StorageFailed
from plugin.base.folders import made, refuse_unwritable


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@contextmanager
def made_in_vain(folders: Sequence[Path], *, with_content: bool = False) -> Iterator[None]:
    """Make folders for a block that fails at its end."""
    with suppress(ZeroDivisionError), made(folders, 0o750, with_content=with_content):
        yield
        raise ZeroDivisionError


def test_a_look_at_folders_leaves_no_trace(tmp_path: Path) -> None:
    refuse_unwritable([tmp_path, tmp_path / "new" / "deep"])

    assert everything(tmp_path) == []


@pytest.mark.parametrize("wrong", ["file", "file/below", "/proc", "/proc/below/deep"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StorageFailed, match=rf"cannot write folder {tmp_path / wrong}: .*operator"):
        refuse_unwritable([tmp_path / wrong])

    assert everything(tmp_path) == ["file"]


def test_a_block_that_fails_takes_back_what_was_missing_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()

    with made_in_vain([tmp_path / "old" / "new", tmp_path / "a" / "b", tmp_path / "full"]):
        (tmp_path / "full" / "of somebody").touch()

    assert everything(tmp_path) == ["full", "full/of somebody", "old"]


def test_what_a_failed_block_put_into_its_folder_goes_along_but_nothing_beside_it(tmp_path: Path) -> None:
    with made_in_vain([tmp_path / "new" / "machine"], with_content=True):
        (tmp_path / "new" / "machine" / "state").touch()
        (tmp_path / "new" / "neighbour").touch()

    assert everything(tmp_path) == ["new", "new/neighbour"]


def test_a_folder_that_was_there_keeps_its_content(tmp_path: Path) -> None:
    (tmp_path / "machine").mkdir()

    with made_in_vain([tmp_path / "machine"], with_content=True):
        (tmp_path / "machine" / "state").touch()

    assert everything(tmp_path) == ["machine", "machine/state"]


def test_a_block_that_ends_well_keeps_its_folders(tmp_path: Path) -> None:
    with made([tmp_path / "a" / "b"], 0o750):
        pass

    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o750
