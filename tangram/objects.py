"""Reads what a user's documents describe: slices, classes, claims, pods."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.frontends.objects import Objects, decode_objects
from tangram.errors import BadInput


def read_objects(documents: Iterable[Document]) -> Objects:
    """Return what documents describe. Raises: BadInput naming file, object, field, value and rule."""
    try:
        return decode_objects(documents)
    except InvalidDocument as error:
        raise BadInput(str(error)) from error
