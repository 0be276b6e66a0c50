"""A start that fails leaves nothing behind and ends with status 1."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.__main__ import main

Arguments = Callable[..., list[str]]


@pytest.fixture
def arguments(folder: Path) -> Arguments:
    """Make the arguments of a plugin below one folder, some of them changed."""
    (folder / "claims").mkdir()
    (folder / "file").touch()

    def make(**changed: Path) -> list[str]:
        places = {
            name: folder / name.replace("_", "-") for name in ("machine", "claims", "kubelet_dir", "cdi_dir")
        }
        options = [(f"--{name.replace('_', '-')}", str(path)) for name, path in (places | changed).items()]
        return ["--simulated", "a100x2", *(part for option in options for part in option)]

    return make


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("option", ["kubelet_dir", "cdi_dir", "machine"])
@pytest.mark.parametrize("wrong", ["below a file", "read-only"])
def test_a_folder_that_cannot_be_written_ends_the_start_before_anything_is_made(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: Arguments, option: str, wrong: str
) -> None:
    place = folder / "file" / "below" if wrong == "below a file" else Path("/proc/nobody-can-make-this")
    before = everything(folder)

    status = main(arguments(**{option: place}))

    said = capsys.readouterr().err
    assert status == 1
    assert said.startswith(f"tangram plugin: cannot write folder {place}")
    assert said.count("\n") == 1
    assert everything(folder) == before


def test_sockets_that_another_process_serves_end_the_start_before_the_machine_is_made(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: Arguments
) -> None:
    registry = folder / "kubelet-dir" / "plugins_registry"
    registry.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(registry / "tangram.dev-reg.sock"))
        other.listen()
        before = everything(folder)

        status = main(arguments())

    assert status == 1
    assert "another process serves it" in capsys.readouterr().err
    assert everything(folder) == before


def test_a_machine_that_cannot_be_opened_leaves_no_folder_of_the_plugin(
    folder: Path, arguments: Arguments
) -> None:
    (folder / "machine" / "root").mkdir(parents=True)

    status = main(arguments())

    assert status == 2
    assert not (folder / "kubelet-dir").exists()
    assert not (folder / "cdi-dir").exists()
    assert (folder / "machine" / "root").is_dir(), "what was there stays"


def test_a_socket_that_cannot_be_made_takes_the_new_machine_and_all_folders_back(
    folder: Path, arguments: Arguments, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(folder)
    replace = Path.replace

    def refused(path: Path, target: Path) -> Path:
        if target.name.endswith("-reg.sock"):
            raise PermissionError(1, "Operation not permitted")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refused)

    status = main(arguments())

    assert status == 1
    assert everything(folder) == before


def test_help_explains_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    said = capsys.readouterr().out
    assert "1  it could not start: a folder cannot be written" in said
    assert "2  wrong options; nothing was created" in said
