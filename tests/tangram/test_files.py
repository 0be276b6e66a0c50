"""``-f FOLDER`` stands for the files in it, as with kubectl; ``-R`` goes into folders of folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %s}\nspec: {selectors: 1}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.yml", "a.yaml", "notes.txt", "deep/c.yaml"):
        path = tmp_path / "objects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CLASS % path.stem if path.suffix != ".txt" else "no object")
    (tmp_path / "objects" / "d.json").write_text(
        '{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}'
    )
    return tmp_path / "objects"


def judged(tangram: Command, *arguments: Any) -> list[str]:
    """Return the files of what is judged: each class there has an error."""
    found = tangram("validate", "--json", *arguments).json["findings"]
    return list(dict.fromkeys(Path(one["place"].partition(":")[0]).name for one in found))


def test_a_folder_stands_for_its_files_in_the_order_of_their_names(tangram: Command, folder: Path) -> None:
    assert judged(tangram, "-f", folder) == ["a.yaml", "b.yml", "d.json"]


def test_folders_of_folders_are_read_where_that_is_asked_for(tangram: Command, folder: Path) -> None:
    assert "c.yaml" not in judged(tangram, "-f", folder)
    assert "c.yaml" in judged(tangram, "-f", folder, "-R")


def test_a_folder_without_such_files_is_one_message(tangram: Command, tmp_path: Path) -> None:
    answer = tangram("validate", "-f", tmp_path)

    assert answer.status == 2
    assert answer.err == f"tangram: {tmp_path}: this folder has no file that ends in .yaml, .yml, .json\n"


@pytest.mark.parametrize("command", ["validate", "show", "allocate", "classes"])
def test_recursion_without_a_folder_is_refused(tangram: Command, folder: Path, command: str) -> None:
    answer = tangram(command, "-f", folder / "a.yaml", "-R")

    assert (answer.status, answer.err) == (2, "tangram: --recursive: is for -f FOLDER\n")
