"""The folder of the hook: what else stands in the place of its files is moved aside, whatever it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.cdi.hook import PROGRAM
from plugin.runtime.mailbox import Mailbox


def _folder(path: Path) -> None:
    (path / "precious").mkdir(parents=True)


STRANGERS: dict[str, Callable[[Path], object]] = {
    "an empty folder": lambda path: path.mkdir(),
    "a folder with content": _folder,
    "a link": lambda path: path.symlink_to("/etc/hostname"),
    "a pipe": os.mkfifo,
    "another file": lambda path: path.write_text("precious"),
}


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("name", [PROGRAM, "bell"])
def test_what_stands_in_the_place_of_the_program_or_the_bell_makes_way(
    tmp_path: Path, stranger: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    mailbox = Mailbox(tmp_path / "hook")
    os.close(mailbox.set_up())
    program = (mailbox.folder / PROGRAM).read_bytes()
    (mailbox.folder / name).unlink()
    STRANGERS[stranger](mailbox.folder / name)

    os.close(mailbox.set_up())

    assert (mailbox.folder / PROGRAM).read_bytes() == program
    assert stat.S_ISREG((mailbox.folder / PROGRAM).lstat().st_mode)
    assert stat.S_ISFIFO((mailbox.folder / "bell").lstat().st_mode)
    if stranger == "a folder with content":
        (aside,) = mailbox.folder.glob(f".{name}.*.aside")
        assert (aside / "precious").exists()
        assert f"it was moved to {aside}" in caplog.text
