"""The option ``-f``: files and folders with objects, as kubectl takes them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scheduler_core.codec.documents import Document
from tangram.documents import read_documents
from tangram.errors import BadInput
from tangram.face import Parser

Group = Any  # argparse's class of groups is private
_ENDINGS: Final = (".yaml", ".yml", ".json")


def add_files(parser: Parser, what: str, *, is_required: bool = False, among: Group | None = None) -> None:
    """Add ``-f`` and ``-R``.

    Shape: ``what`` the files have, for the help; ``among`` the group of other sources, one of which counts.
    """
    (parser if among is None else among).add_argument(
        "-f",
        "--file",
        action="append",
        required=is_required,
        metavar="FILE",
        dest="files",
        help=f"{what}; a folder means its *.yaml, *.yml, *.json, - standard input; may be repeated",
    )
    parser.add_argument("-R", "--recursive", action="store_true", help="with -f: folders in folders too")


def read_files(options: Namespace) -> tuple[Document, ...]:
    """Return the documents of all files of ``-f``, in the order of the options. Raises: BadInput."""
    refuse_idle_recursion(options)
    paths = (one for path in options.files or () for one in _files(path, is_deep=options.recursive))
    return tuple(document for path in paths for document in read_documents(path))


def refuse_idle_recursion(options: Namespace) -> None:
    """Refuse ``-R`` without a folder. Raises: BadInput."""
    if options.recursive and not any(map(_is_folder, options.files or ())):
        raise BadInput("--recursive: is for -f FOLDER")


def _files(path: str, *, is_deep: bool) -> Iterator[str]:
    """Yield the path, or the files of a folder in the order of their paths. Raises: BadInput."""
    if not _is_folder(path):
        yield path
        return
    try:
        found = sorted(Path(path).rglob("*") if is_deep else Path(path).iterdir())
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error
    files = [str(one) for one in found if one.suffix in _ENDINGS and one.is_file()]
    if not files:
        raise BadInput(f"{path}: this folder has no file that ends in {', '.join(_ENDINGS)}")
    yield from files


def _is_folder(path: str) -> bool:
    try:
        return path != "-" and Path(path).is_dir()
    except (OSError, ValueError):  # no path at all: reading it says what is wrong
        return False
