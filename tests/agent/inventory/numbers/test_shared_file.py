"""A file in a folder that others may write: root follows no link there, and waits for no pipe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.inventory.numbers.shared_file import NotKept, SharedFile

SECRET = b"only root may read this"


@pytest.fixture
def file(tmp_path: Path) -> SharedFile:
    (tmp_path / "secret").write_bytes(SECRET)
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o1777)
    return SharedFile(folder / "node-a.json")


STRANGERS = {
    "a link": lambda path: path.symlink_to(path.parents[1] / "secret"),
    "a link to nothing": lambda path: path.symlink_to(path.parents[1] / "nothing"),
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_what_is_not_a_plain_file_is_refused_with_its_name(
    file: SharedFile, stranger: str, caplog: pytest.LogCaptureFixture
) -> None:
    STRANGERS[stranger](file.path)

    assert file.read(100) == b""

    assert f"{file.path} is not read: it is a link" in caplog.text


@pytest.mark.parametrize("stranger", sorted(STRANGERS.keys() - {"a folder"}))
def test_a_write_takes_its_place_and_changes_nothing_that_it_leads_to(
    file: SharedFile, stranger: str
) -> None:
    STRANGERS[stranger](file.path)

    with file.locked():
        file.replace(b"numbers")

    assert file.read(100) == b"numbers"
    assert (file.path.parents[1] / "secret").read_bytes() == SECRET
    assert os.listdir(file.path.parent) == [file.path.name]


def test_a_name_that_is_taken_is_never_written_through(
    file: SharedFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (file.path.parent / f".{file.path.name}.guessed.tmp").symlink_to(file.path.parents[1] / "secret")

    with pytest.raises(NotKept, match="cannot be written"):
        file.replace(b"numbers")

    assert (file.path.parents[1] / "secret").read_bytes() == SECRET


def test_what_killed_processes_left_long_ago_is_removed(file: SharedFile) -> None:
    old, young = (file.path.parent / f".{file.path.name}.{name}.tmp" for name in ("old", "young"))
    for left in (old, young):
        left.write_bytes(b"")
    os.utime(old, (1, 1))

    file.replace(b"numbers")

    assert sorted(os.listdir(file.path.parent)) == sorted([young.name, file.path.name])
