"""API objects as the server writes them: plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
"""One API object."""


def name_of(document: Document) -> str:
    """Return the object's name."""
    return str(document["metadata"]["name"])
