"""Folders of tests lie in memory where that has room for them and lets programs run."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import short_folders

GIB = 2**30


def place(size: int, flags: int = 0) -> SimpleNamespace:
    return SimpleNamespace(f_flag=flags, f_bavail=size // 4096, f_frsize=4096)


@pytest.mark.parametrize(
    ("found", "has_room"),
    [
        (place(8 * GIB), True),
        (place(64 * 2**20), False),
        (place(8 * GIB, os.ST_NOEXEC), False),
    ],
)
def test_memory_is_used_where_it_is_large_and_programs_run_there(
    found: SimpleNamespace, has_room: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: found)

    assert short_folders.has_room(str(tmp_path)) is has_room


def test_a_machine_without_the_folder_has_no_room_there() -> None:
    assert not short_folders.has_room("/dev/shm-of-no-machine")


def test_a_folder_has_a_short_name_and_is_removed() -> None:
    with short_folders.short_folder() as name:
        assert len(name) < len("/dev/shm/tg-") + 10
        assert os.path.isdir(name)

    assert not os.path.exists(name)
