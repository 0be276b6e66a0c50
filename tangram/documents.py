"""Reads a user's files into plain documents, each with the place it came from.

Takes paths of YAML or JSON files with one or more documents; ``-`` is standard input. Returns mappings that
hold only strings, numbers, booleans, lists and mappings with string keys, as an API server would read them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from daemon import documents
from daemon.document import MAX_BYTES, NotReadable
from scheduler_core.codec.documents import Document
from tangram.errors import BadInput
from tangram.program.progress import reading


def read_documents(path: str) -> tuple[Document, ...]:
    """Return the documents of a file in order; a ``List`` stands for its items.

    Raises: BadInput with file and line for what cannot be read.
    """
    if path == "-" and sys.stdin is None:
        raise BadInput("-: standard input is closed: pipe a file into it, or name one")
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1) if path == "-" else documents.read_bytes(Path(path))
        return parse_documents(path, documents.decode(path, data))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error
    except NotReadable as error:
        raise BadInput(str(error)) from error


def parse_documents(name: str, text: str) -> tuple[Document, ...]:
    """Return the documents of a text; ``name`` stands for the file in messages. Raises: BadInput."""
    try:
        with reading(name, len(text)) as progress, _without_collections():
            found = [_object(one.place, one.content) for one in documents.documents(name, text, progress)]
        return tuple(item for document in found for item in _items(document))
    except NotReadable as error:
        raise BadInput(str(error)) from error


@contextmanager
def _without_collections() -> Iterator[None]:
    """Put off the search for garbage while the block runs: of what is read all is kept, and there is much."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _object(place: str, content: object) -> Document:
    if not isinstance(content, Mapping):
        raise BadInput(f"{place}: must be an object with kind and metadata, found {type(content).__name__}")
    return Document(place, content)


def _items(document: Document) -> Iterator[Document]:
    items = document.content.get("items")
    if not str(document.content.get("kind", "")).endswith("List") or not isinstance(items, list):
        yield document
        return
    for index, item in enumerate(items):
        yield _object(f"{document.place} items[{index}]", item)
