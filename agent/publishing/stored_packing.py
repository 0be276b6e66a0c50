"""In which slices the stored devices of a node lie, so that an agent that starts moves none of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from agent.slices import CompositePacked
from scheduler_core.base.errors import CoreError
from scheduler_core.codec import composite, v1
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.dialects.layout import Cut
from scheduler_core.dialects.packing import Packed
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.names import order_of

_Slice = TypeVar("_Slice", V1Slice, CompositeSlice)


def packed_in(stored: Sequence[Document]) -> Packed | None:
    """Return how stored v1 slices hold a pool, None where they are no complete pool that can be read."""
    try:
        slices = _newest([v1.decode_slice(one) for one in stored])
    except CoreError:
        return None  # somebody else wrote them: they are replaced
    cuts = [Cut(tuple(one.sources), one.devices) for one in slices]
    sources = {name: amounts for one in slices for name, amounts in one.sources.items()}
    return Packed.of(cuts, sources) if cuts else None


def composite_packed_in(stored: Sequence[Document]) -> CompositePacked | None:
    """Return how stored composite slices hold a pool, None where they are no complete one."""
    try:
        slices = _newest([composite.decode_slice(one) for one in stored])
    except CoreError:
        return None
    return CompositePacked.of(slices) if slices else None


def _newest(slices: Sequence[_Slice]) -> list[_Slice]:
    """Return the slices of the newest generation in their order, none where it is not complete."""
    newest = max((one.generation for one in slices), default=0)
    found = sorted((one for one in slices if one.generation == newest), key=lambda one: order_of(one.name))
    is_complete = bool(found) and len(found) == found[0].slice_count
    return found if is_complete else []
