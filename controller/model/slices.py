"""A ResourceSlice of our driver: its content without our taint, and whether it had the taint.

Takes the document as stored; returns a value. A slice without our taint on all of its devices belongs to a
node whose devices kube-scheduler may allocate: servers before 1.36 drop taints, and the label says only
what is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.model.slice_text import parse, read_v1_slice
from scheduler_core.base.errors import CoreError
from scheduler_core.codec import v1
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.model.device import Device
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.ownership import CONTROLLER, MULTI_NODE, OWNER
from scheduler_core.model.taints import Effect, Taint


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
    content: V1Slice | None = None
    is_multi_node: bool = False

    def taken(self) -> V1Slice | None:
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


def _seen(found: V1Slice) -> SliceSeen:
    node = found.nodes.name if isinstance(found.nodes, OnNode) else ""
    is_owned = all(any(map(_is_ours, one.taints)) for one in found.devices) if found.devices else None
    devices = tuple(map(_without_ours, found.devices))
    is_multi_node = found.pool.name.startswith(MULTI_NODE)
    content = replace(found, devices=devices)
    return SliceSeen(found.name, node, is_owned, content=content, is_multi_node=is_multi_node)


def _is_ours(taint: Taint) -> bool:
    return (taint.key, taint.value, taint.effect) == (OWNER, CONTROLLER, Effect.NO_SCHEDULE)


def _without_ours(device: Device) -> Device:
    if not device.taints:
        return device
    return replace(device, taints=tuple(one for one in device.taints if not _is_ours(one)))
