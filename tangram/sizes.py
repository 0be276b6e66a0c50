"""How large slices are in a form. Units: bytes of compact JSON, as an API server stores it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass

Objects = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a pool in one form. Shape: ``obstacle`` says why it has none, else None."""

    form: str
    slices: int = 0
    total_bytes: int = 0
    largest_bytes: int = 0
    obstacle: str | None = None


def size_of(form: str, objects: Objects) -> Size:
    """Measure API objects."""
    sizes = [len(json.dumps(one, separators=(",", ":")).encode()) for one in objects]
    return Size(form, len(sizes), sum(sizes), max(sizes, default=0))
