"""Component templates: everything that components of equal hardware share, kept once for the whole cluster.

A template is a structure class plus the attribute values in which its components agree; values that differ
stay in the component. Device names and their places in the pool are a ``DeviceListing``, shared by all
nodes that number their hardware alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName, SourceName
from scheduler_core.tables.structure_class import AttributeLocation, Entries, Entry, StructureClass


class ComponentTemplate:
    """What equal components share. Equal templates are one object.

    Shape: ``open`` the entries in which components differ, ascending; ``slots`` finds them in a
           component's own.
    """

    __slots__ = ("_entries", "open", "slots", "structure_class", "tables")

    def __init__(self, structure_class: StructureClass, entries: Entries) -> None:
        self.structure_class = structure_class
        self.tables = structure_class.tables
        self.open = tuple(sorted(structure_class.varying))
        self.slots = {number: slot for slot, number in enumerate(self.open)}
        self._entries = tuple("" if number in self.slots else entry for number, entry in enumerate(entries))

    def entry(self, number: int, own: Entries) -> Entry:
        """Return an entry of a component with these entries of its own."""
        slot = self.slots.get(number)
        return self._entries[number] if slot is None else own[slot]

    def blocks(self, key: QualifiedName, own: Entries) -> Iterator[tuple[AttributeValue, int]]:
        """Yield the values of an attribute with the positions that have each; a value may come again."""
        for place in self.structure_class.places(key):
            entry = self.entry(place.entry, own)
            if place.is_spread:
                values = cast("tuple[AttributeValue, ...]", entry)
                for position, value in zip(place.positions, values, strict=True):
                    yield value, 1 << position
            else:
                yield cast("AttributeValue", entry), place.mask

    def value(self, place: AttributeLocation, own: Entries, position: int) -> AttributeValue:
        """Return what one of the devices of a place has."""
        entry = self.entry(place.entry, own)
        if place.is_spread:
            return cast("tuple[AttributeValue, ...]", entry)[place.positions.index(position)]
        return cast("AttributeValue", entry)


@dataclass(frozen=True, eq=False)
class DeviceListing:
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
