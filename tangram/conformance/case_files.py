"""Reads case files: a list of cases, one case, or an object with ``cases``.

The other keys of an object with ``cases`` belong to each of them. This module does not interpret cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from daemon import documents
from daemon.document import NotReadable
from scheduler_core.base.quick_dataclass import dataclass
from tangram.errors import BadInput


@dataclass(frozen=True, slots=True)
class Case:
    """One case. Shape: ``theme`` is the name of its file, by which decision records speak of it."""

    theme: str
    name: str
    content: Mapping[str, Any]


def case_paths(paths: list[str]) -> tuple[Path, ...]:
    """Return the files named, and those in the folders named, at any depth, in the order of their names.

    Raises: BadInput for a path that does not exist, or a folder without a case file.
    """
    return tuple(path for named in paths for path in _files(Path(named)))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        if not path.exists():
            raise BadInput(f"{path}: no such file or folder")
        yield path
        return
    found = sorted(path.rglob("*.json"))
    if not found:
        raise BadInput(f"{path}: the folder holds no case file (*.json)")
    yield from found


def read_cases(path: Path) -> tuple[Case, ...]:
    """Return the cases of a file in order. Raises: BadInput for what cannot be read as cases."""
    content = _content(path)
    shared: Mapping[str, Any] = {}
    if isinstance(content, dict) and "cases" in content:
        shared = {key: value for key, value in content.items() if key != "cases"}
        content = content["cases"]
    found = content if isinstance(content, list) else [content]
    if not found:
        raise BadInput(f"{path}: holds no case")
    return tuple(
        _case(path, number, {**shared, **_object(path, number, one)}) for number, one in enumerate(found)
    )


def _content(path: Path) -> Any:
    try:
        text = documents.decode(str(path), documents.read_bytes(path))
        return documents.json_document(str(path), text).content
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error
    except NotReadable as error:
        raise BadInput(str(error)) from error


def _object(path: Path, number: int, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{path}: case {number}: must be an object, found {type(value).__name__}")
    return value


def _case(path: Path, number: int, content: Mapping[str, Any]) -> Case:
    return Case(path.stem, str(content.get("name") or f"case {number}"), content)
