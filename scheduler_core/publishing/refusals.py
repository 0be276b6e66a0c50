"""Which entries of a slice a server's refusal is about, and slices without these entries. Pure.

Servers name the fields that they refuse, ``spec.devices[3].attributes[...]``. A device goes with what it is
cut from, draws from or includes: without that, readers would refuse it, or count it as free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

from scheduler_core.publishing.documents import Document

_FIELD: Final = re.compile(r"spec\.(devices|deviceMixins|sharedCounters)\[(\d{1,4})\](?:\.(\w+))?")
_OF_THE_FORM: Final = frozenset({"consumesCounters", "nodeName", "nodeSelector", "allNodes"})
"""Fields that all devices have alike: servers refuse them for how the slice is written."""


class SliceEntry(NamedTuple):
    """One entry of a slice. Shape: ``kind`` is the list that has it, ``devices`` or another."""

    kind: str
    name: str


def refused_entries(slice_: Document, fields: Iterable[str]) -> Mapping[SliceEntry, Mapping[str, Any]]:
    """Return the entries of a slice that refused fields belong to, with their content.

    Shape: empty where the fields name no entry, or refuse how the slice is written.
    """
    found: dict[SliceEntry, Mapping[str, Any]] = {}
    for field in fields:
        match = _FIELD.match(field)
        if match is None or match[3] in _OF_THE_FORM:
            continue
        entries = slice_["spec"].get(match[1]) or ()
        if int(match[2]) < len(entries):
            entry = entries[int(match[2])]
            found[SliceEntry(match[1], entry["name"])] = entry
    return found


def contents_of(
    slices: Iterable[Document], entries: AbstractSet[SliceEntry]
) -> Mapping[SliceEntry, Mapping[str, Any]]:
    """Return the contents of those of the entries that slices have."""
    return {key: content for one in slices for key, content in _entries(one) if key in entries}


def without_entries(slices: Sequence[Document], gone: AbstractSet[SliceEntry]) -> tuple[Document, ...]:
    """Return the slices without these entries, and without the devices that need one of them."""
    if not gone:
        return tuple(slices)
    every = [device for one in slices for device in one["spec"].get("devices") or ()]
    left, count = set(gone), -1
    while count != len(left):
        count = len(left)
        left |= {SliceEntry("devices", one["name"]) for one in every if not left.isdisjoint(_needs(one))}
    return tuple(_without(one, left) for one in slices)


def _needs(device: Mapping[str, Any]) -> Iterator[SliceEntry]:
    for draw in device.get("consumesCounters") or ():
        yield SliceEntry("sharedCounters", draw["counterSet"])
    body = device.get("composite") or {}
    for one in body.get("includes") or ():
        yield SliceEntry("deviceMixins", one["name"])
    for one in body.get("consumesCapacityFrom") or ():
        yield SliceEntry("devices", one["name"])


def _without(slice_: Document, gone: AbstractSet[SliceEntry]) -> Document:
    spec = dict(slice_["spec"])
    for kind in ("devices", "deviceMixins", "sharedCounters"):
        kept = [one for one in spec.pop(kind, None) or () if SliceEntry(kind, one["name"]) not in gone]
        if kept:
            spec[kind] = kept
    return {**slice_, "spec": spec}


def _entries(slice_: Document) -> Iterator[tuple[SliceEntry, Mapping[str, Any]]]:
    for kind in ("devices", "deviceMixins", "sharedCounters"):
        for one in slice_["spec"].get(kind) or ():
            yield SliceEntry(kind, one["name"]), one
