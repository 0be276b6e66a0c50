"""A ResourceSlice of our driver: its content without our taint, and whether it had the taint.

Takes the document as stored; returns a value. A slice without our taint on all of its devices belongs to a
node whose devices kube-scheduler may allocate: servers before 1.36 drop taints, and the label says only
what is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

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
    name = str(document["metadata"]["name"])
    try:
        found = v1.decode_slice(document)
    except CoreError as error:
        return SliceSeen(name, str((document.get("spec") or {}).get("nodeName") or ""), None, str(error))
    node = found.nodes.name if isinstance(found.nodes, OnNode) else ""
    is_owned = all(any(map(_is_ours, one.taints)) for one in found.devices) if found.devices else None
    devices = tuple(map(_without_ours, found.devices))
    is_multi_node = found.pool.name.startswith(MULTI_NODE)
    content = replace(found, devices=devices)
    return SliceSeen(name, node, is_owned, content=content, is_multi_node=is_multi_node)


def _is_ours(taint: Taint) -> bool:
    return (taint.key, taint.value, taint.effect) == (OWNER, CONTROLLER, Effect.NO_SCHEDULE)


def _without_ours(device: Device) -> Device:
    if not device.taints:
        return device
    return replace(device, taints=tuple(one for one in device.taints if not _is_ours(one)))
