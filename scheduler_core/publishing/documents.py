"""API objects as plain JSON values, in the form of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
"""One API object."""


def name_of(document: Document) -> str:
    """Return the object's name."""
    return str(document["metadata"]["name"])
