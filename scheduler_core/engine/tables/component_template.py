"""Templates: everything that the components of equal hardware share, kept once for the whole cluster.

A template is a skeleton with the entries in which its components agree; the others are kept in the
component. Names and places in the listing are a ``Layout``, shared by all nodes that number their hardware
alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from scheduler_core.engine.tables.structure_class import Entries, Entry, Place, Skeleton
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName, SourceName


class Template:
    """What equal components share. Equal templates are one object.

    Shape: ``open`` the entries in which components differ, ascending; ``slots`` finds them in a
           component's own.
    """

    __slots__ = ("_entries", "open", "shape", "skeleton", "slots")

    def __init__(self, skeleton: Skeleton, entries: Entries) -> None:
        self.skeleton = skeleton
        self.shape = skeleton.shape
        self.open = tuple(sorted(skeleton.varying))
        self.slots = {number: slot for slot, number in enumerate(self.open)}
        self._entries = tuple("" if number in self.slots else entry for number, entry in enumerate(entries))

    def entry(self, number: int, own: Entries) -> Entry:
        """Return an entry of a component with these entries of its own."""
        slot = self.slots.get(number)
        return self._entries[number] if slot is None else own[slot]

    def blocks(self, key: QualifiedName, own: Entries) -> Iterator[tuple[AttributeValue, int]]:
        """Yield the values of an attribute with the positions that have each; a value may come again."""
        for place in self.skeleton.places(key):
            entry = self.entry(place.entry, own)
            if place.is_spread:
                values = cast("tuple[AttributeValue, ...]", entry)
                for position, value in zip(place.positions, values, strict=True):
                    yield value, 1 << position
            else:
                yield cast("AttributeValue", entry), place.mask

    def value(self, place: Place, own: Entries, position: int) -> AttributeValue:
        """Return what one of the devices of a place has."""
        entry = self.entry(place.entry, own)
        if place.is_spread:
            return cast("tuple[AttributeValue, ...]", entry)[place.positions.index(position)]
        return cast("AttributeValue", entry)


@dataclass(frozen=True, eq=False)
class Layout:
    """What the devices and sources of a component are called, and where the pool lists the devices.

    Equal layouts are one object.
    """

    names: tuple[DeviceName, ...]
    sources: tuple[SourceName, ...]
    listed: tuple[int, ...]

    @cached_property
    def index(self) -> dict[DeviceName, int]:
        """Return the position of each device."""
        return {name: position for position, name in enumerate(self.names)}
