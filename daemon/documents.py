"""Reads YAML or JSON into plain values: only what JSON can express, within limits of size and depth.

Takes a name and bytes; returns documents, each with its place. Any text, however broken or hostile, gives
documents or a ``NotReadable``, no other error. Never interprets a document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any

from daemon.document import MAX_BYTES, MAX_DEPTH, MAX_VALUES, TOO_DEEP, Document, NotReadable, Progress, shown
from daemon.opened import opened
from daemon.yaml_text.lines import documents_of_lines


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, or enough of them to see that it is too large. Never waits for a writer to come.

    Raises: OSError, also for a pipe that nobody writes to.
    """
    with opened(path) as file:
        return file.read(MAX_BYTES + 1)


def decode(name: str, data: bytes) -> str:
    """Return the text of a file's bytes. Raises: NotReadable where it is too large or no UTF-8."""
    if len(data) > MAX_BYTES:
        raise NotReadable(name, f"is larger than {MAX_BYTES // 2**20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotReadable(name, f"is not UTF-8 text: byte {error.start}") from error


def documents(name: str, text: str, progress: Progress | None = None) -> Iterator[Document]:
    """Return the documents of a text in order, without the empty ones.

    Shape: ``name`` is the file's name in messages; if it ends in ``.json``, the file is JSON. ``progress`` is
           told now and then how many characters of YAML have been read.
    Raises: NotReadable.
    """
    if name.endswith(".json"):
        yield json_document(name, text)
        return
    built = documents_of_lines(text, MAX_DEPTH, progress)
    if built is None:
        yield from _of_any_yaml(name, text, progress)
        return
    for one in built:
        document = Document(f"{name}:{one.line}", one.content)
        if one.values > MAX_VALUES:  # perhaps
            refuse_unbounded(document, MAX_VALUES)
        yield document


def _of_any_yaml(name: str, text: str, progress: Progress | None) -> Iterator[Document]:
    from daemon.yaml_text import full  # noqa: PLC0415  # most texts need no parser of YAML

    plain = full.plain(name, text, progress)
    if plain is not None:  # within all bounds already
        yield from plain
        return
    try:
        for document in full.documents(name, text):
            refuse_unbounded(document, MAX_VALUES)
            yield document
    except RecursionError:
        raise NotReadable(name, TOO_DEEP) from None


def json_document(name: str, text: str) -> Document:
    """Return the one document of a JSON text, whatever its name ends in. Raises: NotReadable."""
    try:
        (document,) = _json(name, text)
        # Nothing unfolds here, so there are no more values than characters.
        refuse_unbounded(document, max(MAX_VALUES, len(text)))
    except RecursionError:
        raise NotReadable(name, TOO_DEEP) from None
    return document


def _json(name: str, text: str) -> Iterator[Document]:
    try:
        yield Document(name, json.loads(text, object_pairs_hook=_without_duplicates))
    except json.JSONDecodeError as error:
        raise NotReadable(f"{name}:{error.lineno}:{error.colno}", f"is not JSON: {error.msg}") from error
    except ValueError as error:
        raise NotReadable(name, f"is not JSON: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {shown(key)} comes twice")
        found[key] = value
    return found


def refuse_unbounded(document: Document, most: int) -> None:
    """Refuse what JSON cannot say, and unbounded work: deep nesting, aliases that unfold without end.

    Shape: ``most`` is how many values it may have. Raises: NotReadable.
    """
    open_values, count = [(document.content, 0)], 0
    while open_values:
        value, depth = open_values.pop()
        count += 1
        if depth > MAX_DEPTH or count + len(open_values) > most:
            limit = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{most} values"
            raise NotReadable(document.place, f"is nested or repeated beyond {limit}")
        if isinstance(value, Mapping):
            for key in value:
                _refuse_no_text(document, key)
            open_values += [(child, depth + 1) for child in value.values()]
        elif isinstance(value, list):
            open_values += [(child, depth + 1) for child in value]
        elif isinstance(value, str):
            _refuse_no_text(document, value)
        elif not _is_plain(value):
            reason = f"{shown(value)} is no value of JSON: write it as a string"
            raise NotReadable(document.place, reason)


def _refuse_no_text(document: Document, text: str) -> None:
    """Refuse half of a surrogate pair, which JSON can escape and nothing can write."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"{shown(text)} is no Unicode text: character {error.start + 1} is half of a surrogate pair"
        raise NotReadable(document.place, reason) from None


def _is_plain(value: object) -> bool:
    return isfinite(value) if isinstance(value, float) else isinstance(value, int | NoneType)
