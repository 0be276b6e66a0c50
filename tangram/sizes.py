"""How large a node's slices are in each form. Units: bytes of compact JSON, as an API server stores it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.inventory.model import NodeDevices
from agent.slices import composite_slices, encoded, flattened, v1_slices
from scheduler_core.base.errors import CannotProject
from scheduler_core.dialects.layout import Layout

Objects = Sequence[Mapping[str, Any]]
FORMS: Final[Mapping[str, Callable[[NodeDevices], Objects]]] = {
    "composite": lambda devices: encoded(composite_slices(devices)),
    "composite, flattened": flattened,
    "v1": lambda devices: v1_slices(devices, Layout.SEPARATE),
    "v1-1.34": lambda devices: v1_slices(devices, Layout.TOGETHER),
}


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


def sizes_of(devices: NodeDevices) -> Iterator[Size]:
    """Yield the size of the node's pool in every form."""
    for form, write in FORMS.items():
        try:
            yield size_of(form, write(devices))
        except CannotProject as error:
            yield Size(form, obstacle=str(error))
