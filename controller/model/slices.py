"""A slice of our driver: its content without our taint, and whether it had the taint.

Takes the document as stored; returns a value. A slice without our taint on all of its devices belongs to a
node whose devices kube-scheduler may allocate: servers before 1.36 drop taints, and the label says only
what is wanted. A CompositeResourceSlice has the taint only if its agent publishes the node in no other form;
one without it says nothing that the v1 slices of the same pool do not say, and is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from controller.model.slice_text import parse, read_v1_slice
from scheduler_core.base.errors import CoreError
from scheduler_core.codec import composite, v1
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.model.composite import CompositeDevice, CompositeSlice
from scheduler_core.model.device import Device
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.ownership import CONTROLLER, MULTI_NODE, OWNER
from scheduler_core.model.taints import Effect, Taint

_AnyDevice = TypeVar("_AnyDevice", Device, CompositeDevice)


@dataclass(slots=True, eq=False)
class SliceSeen:
    """A slice.

    Shape: ``node`` is the node that owns it, empty where none does; ``is_owned`` None where it lists no
           device; ``is_multi_node`` for a pool that no node owns, which kube-scheduler allocates everywhere;
           ``problem`` says why it cannot be read. ``taken`` gives the content away once, because the
           cluster state keeps it in a smaller form.
    """

    name: str
    node: str
    is_owned: bool | None
    problem: str = ""
    content: V1Slice | CompositeSlice | None = None
    is_multi_node: bool = False

    def taken(self) -> V1Slice | CompositeSlice | None:
        """Return the content, and forget it here."""
        found, self.content = self.content, None
        return found


def read_slice(document: Mapping[str, Any]) -> SliceSeen:
    """Return a slice. What the core cannot read is a ``problem``."""
    try:
        return _seen(v1.decode_slice(document))
    except CoreError as error:
        name, spec = str(document["metadata"]["name"]), document.get("spec") or {}
        return SliceSeen(name, str(spec.get("nodeName") or ""), None, str(error))


def read_slice_text(text: bytes) -> SliceSeen:
    """Return the same from the text of the document, in a third of the time."""
    try:
        return _seen(read_v1_slice(text))
    except CoreError:
        return read_slice(parse(text))


def key_of(kind: str, name: str) -> str:
    """Return the name of a slice here: slices of both kinds may have one name, which has no slash."""
    return f"composite/{name}" if kind == composite.KIND else name


def read_composite_slice(document: Mapping[str, Any]) -> SliceSeen:
    """Return a composite slice. Shape: without content and problem for one that is not read."""
    key = key_of(composite.KIND, str(document["metadata"]["name"]))
    try:
        found = composite.decode_slice(document)
    except CoreError as error:
        return SliceSeen(key, "", None, str(error))
    node = found.nodes.name if isinstance(found.nodes, OnNode) else found.pool.name  # its pool has its name
    is_owned = has_mark(found.devices)
    if is_owned is False or found.pool.name.startswith(MULTI_NODE):
        return SliceSeen(key, node, None)
    content = replace(found, name=key, devices=tuple(map(_without_ours, found.devices)))
    return SliceSeen(key, node, is_owned, content=content)


def _seen(found: V1Slice) -> SliceSeen:
    node = found.nodes.name if isinstance(found.nodes, OnNode) else ""
    is_owned = has_mark(found.devices)
    devices = tuple(map(_without_ours, found.devices))
    is_multi_node = found.pool.name.startswith(MULTI_NODE)
    content = replace(found, devices=devices)
    return SliceSeen(found.name, node, is_owned, content=content, is_multi_node=is_multi_node)


def has_mark(devices: Sequence[Device | CompositeDevice]) -> bool | None:
    """Whether all devices of a slice have our taint, None if there are no devices."""
    return all(any(map(_is_ours, one.taints)) for one in devices) if devices else None


def _is_ours(taint: Taint) -> bool:
    return (taint.key, taint.value, taint.effect) == (OWNER, CONTROLLER, Effect.NO_SCHEDULE)


def _without_ours(device: _AnyDevice) -> _AnyDevice:
    if not device.taints:
        return device
    return replace(device, taints=tuple(one for one in device.taints if not _is_ours(one)))
