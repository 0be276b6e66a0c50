"""PURE: what the metrics say of slices and devices. Takes documents as they are stored; returns counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from agent.inventory.withheld import Withheld
from daemon.metrics.definition import Labels
from scheduler_core.publishing.documents import Document

_OTHER = "other"


def devices_by_state(slices: Iterable[Document], withheld: Iterable[Withheld]) -> Mapping[Labels, float]:
    """Count devices by type and state: offered, tainted, or withheld and in no slice."""
    counts = Counter[tuple[str, str]]()
    for device, driver in _devices(slices):
        counts[_type_of(device, driver), "tainted" if device.get("taints") else "offered"] += 1
    counts.update((one.kind, "withheld") for one in withheld)
    return {(("type", kind), ("state", state)): float(count) for (kind, state), count in counts.items()}


def taints(slices: Iterable[Document]) -> Mapping[Labels, float]:
    """Count devices by type, and by the key and effect of each of their taints."""
    counts = Counter(
        (_type_of(device, driver), str(taint["key"]), str(taint["effect"]))
        for device, driver in _devices(slices)
        for taint in device.get("taints") or ()
    )
    return {
        (("type", kind), ("taint", key), ("effect", effect)): float(count)
        for (kind, key, effect), count in counts.items()
    }


def size_of(slices: Iterable[Document]) -> int:
    """Return how long slices are as JSON. Units: bytes."""
    return sum(len(msgspec.json.encode(one)) for one in slices)


def _devices(slices: Iterable[Document]) -> Iterable[tuple[Mapping[str, Any], str]]:
    for one in slices:
        for device in one["spec"].get("devices") or ():
            yield device, str(one["spec"]["driver"])


def _type_of(device: Mapping[str, Any], driver: str) -> str:
    attributes = device.get("attributes") or {}
    found = attributes.get("type") or attributes.get(f"{driver}/type") or {}
    return str(found.get("string", _OTHER))
