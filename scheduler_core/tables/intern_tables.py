"""The interning tables of an engine: equal things are kept once, whatever pool they came with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.features import Groups as GroupMeaning
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import Binding, DeviceName, QualifiedName, SourceName
from scheduler_core.model.taints import Taint
from scheduler_core.tables.component_template import ComponentTemplate, DeviceListing
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure, modes_of, scaled
from scheduler_core.tables.structure_class import (
    NO_BINDING,
    AttributeGroup,
    DeviceFacts,
    Entries,
    Groups,
    Policies,
    StructureClass,
)

Marks = tuple[tuple[Taint, ...], Binding, bool, Policies, str | None]
FactsKey = tuple[int, tuple[tuple[int, int, Groups], ...], tuple[int, ...], Marks | None]
"""Numbers of amounts: of the capacity; sources, what is drawn from each, and the groups declared for it;
the positions of the parents; taints, what must become true of the device, how it is shared.
"""
_UNMARKED: Final[Marks] = ((), NO_BINDING, False, (), None)
StructureKey = tuple[str, tuple[FactsKey, ...], tuple[int, ...], tuple[AttributeGroup, ...]]


class InternTables:
    """What has been compiled so far. It only grows with new kinds of hardware."""

    def __init__(self, meaning: GroupMeaning) -> None:
        self._meaning = meaning
        self._numbers: dict[tuple[object, ...], int] = {}
        self._amounts: list[Mapping[Any, Quantity]] = []
        self._tables: dict[Structure, OccupancyTables] = {}
        self._structure_classes: dict[StructureKey, StructureClass] = {}
        self._templates: dict[tuple[StructureClass, frozenset[int]], ComponentTemplate] = {}
        self._layouts: dict[tuple[object, ...], DeviceListing] = {}

    def number(self, amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> int:
        """Return the number of a mapping of amounts: equal ones have one number, however they are written."""
        key = (*amounts, *[quantity.nano for quantity in amounts.values()])
        number = self._numbers.setdefault(key, len(self._amounts))
        if number == len(self._amounts):
            self._amounts.append(amounts)
        return number

    def structure_class(self, key: StructureKey) -> StructureClass:
        """Return the skeleton of a component."""
        found = self._structure_classes.get(key)
        if found is None:
            found = self._structure_classes[key] = self._new_structure_class(key)
        return found

    def template(self, structure_class: StructureClass, entries: Entries) -> ComponentTemplate:
        """Return the template of a component with these entries, which the skeleton has noted.

        What is noted agrees in all entries but those seen to vary: which ones these are is the key.
        """
        key = (structure_class, structure_class.varying)
        found = self._templates.get(key)
        if found is None:
            found = self._templates[key] = ComponentTemplate(structure_class, entries)
        return found

    def layout(
        self, names: tuple[DeviceName, ...], sources: tuple[SourceName, ...], listed: tuple[int, ...]
    ) -> DeviceListing:
        """Return the layout."""
        key = (names, sources, listed)
        found = self._layouts.get(key)
        if found is None:
            found = self._layouts[key] = DeviceListing(*key)
        return found

    def _new_structure_class(self, key: StructureKey) -> StructureClass:
        driver, body_keys, source_numbers, groups = key
        amounts_of = self._amounts
        bodies = tuple([
            DeviceFacts(
                capacity,
                amounts_of[capacity],
                draws,
                parents,
                *(marks or _UNMARKED),
            )
            for capacity, draws, parents, marks in body_keys
        ])  # fmt: skip
        sources = tuple([amounts_of[number] for number in source_numbers])
        structure = self._structure(bodies, sources)
        tables = self._tables.get(structure)
        if tables is None:
            tables = self._tables[structure] = OccupancyTables(structure)
        return StructureClass(driver, tables, bodies, sources, groups, amounts=amounts_of)

    def _structure(
        self, bodies: tuple[DeviceFacts, ...], sources: tuple[Mapping[str, Quantity], ...]
    ) -> Structure:
        places: list[dict[str, int]] = [{} for _ in sources]
        room: list[int] = []
        draws: list[list[tuple[int, int]]] = []
        for body in bodies:
            mine: list[tuple[int, int]] = []
            for source, amounts, _ in body.draws:
                place_of = places[source]
                for dimension, quantity in self._amounts[amounts].items():
                    place = place_of.get(dimension)
                    if place is None:
                        place = place_of[dimension] = len(room)
                        room.append(sources[source][dimension].nano)
                    mine.append((place, quantity.nano))
            draws.append(mine)
        modes = modes_of([body.draws for body in bodies], self._meaning)
        return scaled(tuple([body.parents for body in bodies]), draws, room, modes)
