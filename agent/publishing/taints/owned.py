"""The mark of a node's allocator: the taint that keeps kube-scheduler from devices of the controller. Pure.

Takes pools and stored slices; returns pools with the taint, and whether all stored devices have it. Beside v1
slices, which kube-scheduler reads, composite slices do not have it: they would have it even where the server
drops it from these. Composite slices that are a node's only ones have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from scheduler_core.model.ownership import CONTROLLER, OWNER, TAINT_EFFECT
from scheduler_core.model.pool import Pool
from scheduler_core.model.taints import Effect, Taint
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.plan import generation_of

MARK: Final = Taint(OWNER, CONTROLLER, Effect(TAINT_EFFECT))
"""The taint on every device of a node whose devices the controller allocates."""


def marked(pool: Pool, allocator: str) -> Pool:
    """Return the pool as this allocator needs it: with the mark on every device for the controller."""
    if allocator != CONTROLLER:
        return pool
    return replace(pool, devices=tuple(replace(one, taints=(*one.taints, MARK)) for one in pool.devices))


def is_marked(slices: Iterable[Document]) -> bool:
    """Whether every device of the newest generation of these slices, which are one pool's, has the mark."""
    found = [(generation_of(one), device) for one in slices for device in one["spec"].get("devices") or ()]
    newest = max((generation for generation, _ in found), default=0)
    return all(_has_mark(device) for generation, device in found if generation == newest)


def _has_mark(device: Document) -> bool:
    found = ((one.get("key"), one.get("value"), one.get("effect")) for one in device.get("taints") or ())
    return (MARK.key, MARK.value, str(MARK.effect)) in found
