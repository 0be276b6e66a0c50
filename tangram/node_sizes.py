"""How large a node's slices are in each form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from agent.inventory.model import NodeDevices
from agent.slices import composite_slices, encoded, flattened, v1_slices
from scheduler_core.base.errors import CannotProject
from scheduler_core.dialects.layout import Layout
from tangram.sizes import Objects, Size, size_of

FORMS: Final[Mapping[str, Callable[[NodeDevices], Objects]]] = {
    "composite": lambda devices: encoded(composite_slices(devices)),
    "composite, flattened": flattened,
    "v1": lambda devices: v1_slices(devices, Layout.SEPARATE),
    "v1-1.34": lambda devices: v1_slices(devices, Layout.TOGETHER),
}


def sizes_of(devices: NodeDevices) -> Iterator[Size]:
    """Yield the size of the node's pool in every form."""
    for form, write in FORMS.items():
        try:
            yield size_of(form, write(devices))
        except CannotProject as error:
            yield Size(form, obstacle=str(error))
