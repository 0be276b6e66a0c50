"""PURE: slices whose devices nobody may allocate: each device has the taint ``tangram.dev/allocator=nobody``.

Takes and returns documents of one pool. The taint keeps every scheduler off while GPUs go from the pool of
their node to a pool of several nodes, or back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.model.ownership import NOBODY, OWNER, TAINT_EFFECT
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.sameness import same

CHANGED: Final = (
    "its devices cannot change while they are published: delete the MultiNodePool and create another one"
)
"""Why a pool of our own GPUs stays as it is: claims may have its devices."""
TAINT: Final = {"key": OWNER, "value": NOBODY, "effect": TAINT_EFFECT}


def closed(slices: Sequence[Document]) -> tuple[Document, ...]:
    """Return slices with the taint on every device."""
    return tuple(_with_devices(one, TAINT) for one in slices)


def opened(slices: Sequence[Document]) -> tuple[Document, ...]:
    """Return slices without the taint."""
    return tuple(_with_devices(one, None) for one in slices)


def is_begun(wanted: Sequence[Document], stored: Sequence[Document]) -> bool:
    """Whether every stored slice is one of the wanted ones, with the taint or without, of any generation."""
    by_name = {one["metadata"]["name"]: one for one in opened(wanted)}
    return all(
        (mine := by_name.get(one["metadata"]["name"])) is not None
        and same(_ungenerated(mine), _ungenerated(one))
        for one in opened(stored)
    )


def _with_devices(slice_: Document, taint: Document | None) -> Document:
    spec = slice_["spec"]
    if not spec.get("devices"):
        return slice_
    devices = [_with_taint(one, taint) for one in spec["devices"]]
    return {**slice_, "spec": {**spec, "devices": devices}}


def _with_taint(device: Document, taint: Document | None) -> Document:
    others = [one for one in device.get("taints") or () if not _is_ours(one)]
    taints = [*others, *([] if taint is None else [taint])]
    rest = {key: value for key, value in device.items() if key != "taints"}
    return {**rest, "taints": taints} if taints else rest


def _is_ours(taint: Document) -> bool:
    return all(taint.get(key) == value for key, value in TAINT.items())


def _ungenerated(slice_: Document) -> dict[str, Any]:
    spec = slice_["spec"]
    return {**spec, "pool": {**spec["pool"], "generation": 0}}
