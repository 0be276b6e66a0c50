"""Durable files: whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from unreadable_files import UNREADABLE

from plugin.base import files
from plugin.base.errors import StorageFailed


def test_a_file_is_replaced_whole_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"

    files.replace(path, b"one", 0o600, synced=True)
    files.replace(path, b"two", 0o600, synced=False)

    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert files.names(path.parent) == ("file",)


def test_content_and_name_of_what_must_outlive_a_power_cut_are_on_the_disk_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    synced: list[tuple[str, bytes]] = []
    fsync = os.fsync

    def recorded(descriptor: int) -> None:
        fsync(descriptor)
        target = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append((str(target), files.read(path)))

    monkeypatch.setattr(os, "fsync", recorded)
    files.replace(path, b"new", 0o600, synced=True)
    files.replace(path, b"newer", 0o600, synced=False)
    files.remove(path)

    assert synced == [(str(path), b"new"), (str(tmp_path), b"new")]


@pytest.mark.parametrize("step", ["open", "replace"])
def test_a_write_that_fails_leaves_the_old_content_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    files.replace(path, b"old", 0o600, synced=True)

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, no_space)
        with pytest.raises(StorageFailed, match=r"cannot write .*file: No space left.*operator"):
            files.replace(path, b"new", 0o600, synced=True)

    assert path.read_bytes() == b"old"


def test_removing_takes_the_temporary_file_along_and_says_whether_there_was_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.replace(path, b"", 0o600, synced=True)
    files.temporary_path(path).write_bytes(b"half")

    assert files.remove(path)
    assert not files.remove(path)

    assert files.names(tmp_path) == ()


def test_where_nothing_can_be_removed_what_is_not_there_counts_as_removed_and_what_is_there_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str | Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    path = tmp_path / "file"
    monkeypatch.setattr(os, "unlink", refuse)

    assert not files.remove(path)
    path.write_bytes(b"there")
    with pytest.raises(StorageFailed, match="Read-only"):
        files.remove(path)


def test_a_file_of_the_kernel_that_says_no_size_is_read_in_few_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces: list[bytes] = []
    read = os.read

    def counted(descriptor: int, most: int) -> bytes:
        pieces.append(read(descriptor, most))
        return pieces[-1]

    monkeypatch.setattr(os, "read", counted)

    found = files.read(Path("/proc/self/status"))

    assert found == b"".join(pieces)
    assert found.startswith(b"Name:")
    assert len(pieces) < 10


def test_a_missing_file_or_folder_reads_as_nothing(tmp_path: Path) -> None:
    assert files.read(tmp_path / "missing") is None
    assert files.names(tmp_path / "missing") == ()


def test_a_temporary_file_leads_back_to_its_name() -> None:
    temporary = files.temporary_path(Path("/folder/claim.json"))

    assert files.original_name(temporary.name) == "claim.json"
    assert files.original_name("claim.json") is None
    assert temporary.suffix not in {".json", ".yaml"}, "a container runtime must not read it"


def test_a_link_in_the_place_of_the_temporary_file_is_never_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    files.temporary_path(tmp_path / "file").symlink_to(victim)

    with pytest.raises(StorageFailed):
        files.replace(tmp_path / "file", b"data", 0o600, synced=True)

    assert victim.read_bytes() == b"precious"


def test_an_empty_folder_in_the_place_of_a_file_or_its_temporary_file_makes_room(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for folder in (path, files.temporary_path(path)):
        folder.mkdir()

    files.replace(path, b"new", 0o600, synced=True)

    assert path.read_bytes() == b"new"
    assert files.names(tmp_path) == ("file",)


def test_an_empty_folder_in_the_place_of_a_file_is_removed_with_it_and_counts_as_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for folder in (path, files.temporary_path(path)):
        folder.mkdir()

    assert files.remove(path)

    assert files.names(tmp_path) == ()


def test_a_file_is_moved_to_the_place_of_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    (tmp_path / "aside").mkdir()

    files.move(tmp_path / "file", tmp_path / "aside")

    assert (tmp_path / "aside").read_bytes() == b"kept"


@pytest.mark.parametrize(
    "act",
    [
        files.remove,
        lambda path: files.replace(path, b"new", 0o600, synced=False),
        lambda path: files.move(path.with_name("other"), path),
    ],
)
def test_a_folder_with_content_in_the_place_of_a_file_is_moved_aside_and_logged(
    tmp_path: Path, act: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    precious = tmp_path / "file" / "precious"
    precious.parent.mkdir()
    precious.write_bytes(b"")
    (tmp_path / "other").write_bytes(b"")

    act(tmp_path / "file")

    (aside,) = tmp_path.glob(".file.*.aside")
    assert (aside / "precious").exists()
    assert f"it was moved to {aside}" in caplog.text


@pytest.mark.parametrize("harm", sorted(UNREADABLE))
def test_a_file_that_cannot_be_read_is_what_the_caller_says_or_an_error(tmp_path: Path, harm: str) -> None:
    UNREADABLE[harm](tmp_path / "file")

    assert files.read(tmp_path / "file", b"other") == b"other"
    with pytest.raises(StorageFailed) as caught:
        files.read(tmp_path / "file")
    assert not files.is_passing(caught.value)


def test_what_says_nothing_of_a_file_is_an_error_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", full)

    with pytest.raises(StorageFailed, match="Too many open files") as caught:
        files.read(tmp_path / "file", b"other")
    assert files.is_passing(caught.value)
