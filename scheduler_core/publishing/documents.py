"""API objects as plain JSON values, in the form of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

Document = Mapping[str, Any]
"""One API object."""


def name_of(document: Document) -> str:
    """Return the object's name."""
    return str(document["metadata"]["name"])


def has_fields(document: Document, selector: str) -> bool:
    """Whether an object is one that a field selector selects.

    Shape: ``selector`` as ``spec.driver=a,spec.nodeName=b``: equal signs only, and no value is empty.
    """
    wanted = (one.partition("=") for one in selector.split(","))
    return all(_field(document, path) == value for path, _, value in wanted)


def _field(document: Document, path: str) -> object:
    return reduce(lambda inside, key: inside.get(key) or {}, path.split("."), document)
