"""What the core needs of a running cluster: slices, classes, nodes, and claims that hold devices.

Each object is read as it comes, so that no more documents are in memory than a page of them. What this core
cannot read is left out, and its name is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, Final, TypeVar

from controller.model.slice_text import parse, read_v1_slice
from controller.model.slices import has_mark
from scheduler_core.base.errors import CoreError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import composite, v1
from scheduler_core.codec.claims import decode_allocated_claim, decode_class
from scheduler_core.codec.documents import decode_node
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.frontends.objects import Objects
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.nodes import Node
from scheduler_core.model.ownership import CONTROLLER, OWNER
from tangram.clusters import ClusterReader, Reading
from tangram.errors import BadInput
from tangram.program.streams import complain

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object that cannot be read, and why."""

    namespace: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"left out, {self.reason}"


def or_left_out(decode: Callable[[Mapping[str, Any]], V]) -> Callable[[Mapping[str, Any]], V | LeftOut]:
    """Return a decoder that returns what it cannot read."""

    def read(document: Mapping[str, Any]) -> V | LeftOut:
        try:
            return decode(document)
        except CoreError as error:
            return left_out(document, error)

    return read


def left_out(document: Mapping[str, Any], error: CoreError) -> LeftOut:
    """Return a document as what cannot be read."""
    metadata = document.get("metadata") or {}
    return LeftOut(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""), str(error))


_slice_of: Final = or_left_out(v1.decode_slice)


def _slice_of_text(text: bytes) -> V1Slice | LeftOut:
    try:
        return read_v1_slice(text)
    except CoreError:
        return _slice_of(parse(text))


def _node(document: Mapping[str, Any]) -> Node:
    try:
        return decode_node(document)
    except CoreError as error:
        raise BadInput(f"cluster: {document['metadata']['name']}: {error}") from error


SLICES: Final[Reading[V1Slice | LeftOut]] = Reading(_slice_of, _slice_of_text)
"""Slices from their text: what was met in another one is not parsed again, and is kept once."""
_COMPOSITES: Final = Reading(or_left_out(composite.decode_slice))
_CLASSES: Final = Reading(or_left_out(decode_class))
_NODES: Final = Reading(_node)


def cluster_objects(cluster: ClusterReader) -> Objects:
    """Return the slices, classes and nodes of a cluster. Raises: BadInput."""
    v1_slices = tuple(left_in(cluster.read("ResourceSlice", SLICES)))
    nodes = cluster.read("Node", _NODES)
    published = {one.pool.name for one in v1_slices}
    alone = {one.name for one in nodes if one.labels.get(OWNER) == CONTROLLER} - published
    return Objects(
        v1_slices=v1_slices,
        composite_slices=tuple(_composite_slices(cluster, alone)) if alone else (),
        classes={one.name: one for one in left_in(cluster.read("DeviceClass", _CLASSES))},
        nodes=nodes,
    )


def _composite_slices(cluster: ClusterReader, nodes: Set[str]) -> Iterator[CompositeSlice]:
    """Yield the slices of nodes that publish no others; their agents mark them for the controller."""
    try:
        found = cluster.read(composite.KIND, _COMPOSITES)
    except BadInput as error:  # it takes a right of its own
        complain(f"nodes that publish only {composite.KIND}s are left out: {error}")
        return
    yield from (
        one for one in left_in(found) if one.pool.name in nodes and has_mark(one.devices) is not False
    )


def holding(document: Mapping[str, Any]) -> AllocatedClaim | None:
    """Return a claim that holds devices, None where it holds none. Raises: CoreError."""
    found = decode_allocated_claim(document)
    return found if (document.get("status") or {}).get("allocation") else None


def left_in(found: Iterable[V | LeftOut]) -> Iterator[V]:
    """Yield what could be read; print what is left out."""
    for one in found:
        if isinstance(one, LeftOut):
            complain(str(one))
        else:
            yield one
