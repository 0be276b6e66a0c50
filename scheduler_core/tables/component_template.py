"""Component templates: what components of equal hardware share, kept once for the whole cluster.

A template is a structure class and the attribute values in which all its components agree. A component
keeps only the values in which it differs: its *own* entries. A device listing has the names of the devices
and where the pool lists them; nodes whose devices have equal names share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import cast

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName, SourceName
from scheduler_core.tables.entries import Entries, Entry
from scheduler_core.tables.structure_class import AttributeLocation, StructureClass


class ComponentTemplate:
    """What equal components share. Equal templates are one object.

    Shape: ``open`` the numbers of the entries that the template does not have, ascending; ``slots`` maps
           each of them to its index among a component's own entries.
    """

    __slots__ = ("_entries", "open", "slots", "structure_class", "tables")

    def __init__(self, structure_class: StructureClass, entries: Entries) -> None:
        self.structure_class = structure_class
        self.tables = structure_class.tables
        self.open = tuple(sorted(structure_class.varying))
        self.slots = {number: slot for slot, number in enumerate(self.open)}
        self._entries = tuple("" if number in self.slots else entry for number, entry in enumerate(entries))

    def entry(self, number: int, own: Entries) -> Entry:
        """Return an entry of the component that has the own entries ``own``."""
        slot = self.slots.get(number)
        return self._entries[number] if slot is None else own[slot]

    def entries(self, own: Entries) -> Entries:
        """Return all entries of the component that has the own entries ``own``."""
        return tuple([self.entry(number, own) for number in range(len(self._entries))])

    def blocks(self, key: QualifiedName, own: Entries) -> Iterator[tuple[AttributeValue, int]]:
        """Yield the values of an attribute, each with the mask of its positions; a value may come twice."""
        for location in self.structure_class.locations(key):
            entry = self.entry(location.entry, own)
            if location.is_per_device:
                values = cast("tuple[AttributeValue, ...]", entry)
                for position, value in zip(location.positions, values, strict=True):
                    yield value, 1 << position
            else:
                yield cast("AttributeValue", entry), location.mask

    def value(self, location: AttributeLocation, own: Entries, position: int) -> AttributeValue:
        """Return the value that one device of a location has."""
        entry = self.entry(location.entry, own)
        if location.is_per_device:
            return cast("tuple[AttributeValue, ...]", entry)[location.positions.index(position)]
        return cast("AttributeValue", entry)


@dataclass(frozen=True, eq=False)
class DeviceListing:
    """The names of a component's devices and sources, and the indexes of its devices in the pool.

    Equal listings are one object.
    """

    names: tuple[DeviceName, ...]
    sources: tuple[SourceName, ...]
    listed: tuple[int, ...]

    @cached_property
    def index(self) -> dict[DeviceName, int]:
        """Return the position of each device, by name."""
        return {name: position for position, name in enumerate(self.names)}
