"""Intern tables: equal amounts, structures, structure classes, templates and listings are kept once each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import Binding, DeviceName, QualifiedName, SourceName
from scheduler_core.model.taints import Taint
from scheduler_core.tables.component_template import ComponentTemplate, DeviceListing
from scheduler_core.tables.entries import Entries
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure, compatibility_of, scaled
from scheduler_core.tables.structure_class import (
    NO_BINDING,
    AttributeGroup,
    DeviceFacts,
    Groups,
    Policies,
    StructureClass,
)

Marks = tuple[tuple[Taint, ...], Binding, bool, Policies, str | None]
"""Taints, binding, whether the device is shareable, its request policies, its expression about others."""
FactsKey = tuple[int, tuple[tuple[int, int, Groups], ...], tuple[int, ...], Marks | None]
"""The number of the capacity; per draw the source, the number of the amounts and the declared groups; the
positions of the parents; the marks.
"""
_UNMARKED: Final[Marks] = ((), NO_BINDING, False, (), None)
StructureKey = tuple[str, tuple[FactsKey, ...], tuple[int, ...], tuple[AttributeGroup, ...]]


class InternTables:
    """All that was compiled so far. The tables grow only when a pool has hardware of a new type."""

    def __init__(self, features: Features = ALL) -> None:
        self._features = features
        self._numbers: dict[tuple[object, ...], int] = {}
        self._amounts: list[Mapping[Any, Quantity]] = []
        self._tables: dict[Structure, OccupancyTables] = {}
        self._structure_classes: dict[StructureKey, StructureClass] = {}
        self._templates: dict[tuple[StructureClass, frozenset[int]], ComponentTemplate] = {}
        self._layouts: dict[tuple[object, ...], DeviceListing] = {}

    def number(self, amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> int:
        """Return the number of a mapping of amounts. Equal mappings have one number."""
        key = (*amounts, *[quantity.nano for quantity in amounts.values()])
        number = self._numbers.setdefault(key, len(self._amounts))
        if number == len(self._amounts):
            self._amounts.append(amounts)
        return number

    def structure_class(self, key: StructureKey) -> StructureClass:
        """Return the structure class of a component."""
        found = self._structure_classes.get(key)
        if found is None:
            found = self._structure_classes[key] = self._new_structure_class(key)
        return found

    def template(self, structure_class: StructureClass, entries: Entries) -> ComponentTemplate:
        """Return the template of a component with these entries. The structure class must have noted them.

        All noted components agree in the entries that do not vary. So the varying ones are a sufficient key.
        """
        key = (structure_class, structure_class.varying)
        found = self._templates.get(key)
        if found is None:
            found = self._templates[key] = ComponentTemplate(structure_class, entries)
        return found

    def layout(
        self, names: tuple[DeviceName, ...], sources: tuple[SourceName, ...], listed: tuple[int, ...]
    ) -> DeviceListing:
        """Return the device listing."""
        key = (names, sources, listed)
        found = self._layouts.get(key)
        if found is None:
            found = self._layouts[key] = DeviceListing(*key)
        return found

    def _new_structure_class(self, key: StructureKey) -> StructureClass:
        driver, fact_keys, source_numbers, groups = key
        amounts_of = self._amounts
        device_facts = tuple([
            DeviceFacts(
                capacity,
                amounts_of[capacity],
                draws,
                parents,
                *(marks or _UNMARKED),
            )
            for capacity, draws, parents, marks in fact_keys
        ])  # fmt: skip
        sources = tuple([amounts_of[number] for number in source_numbers])
        structure = self._structure(device_facts, sources)
        tables = self._tables.get(structure)
        if tables is None:
            tables = self._tables[structure] = OccupancyTables(structure)
        return StructureClass(
            driver,
            tables,
            device_facts,
            sources,
            groups,
            amounts=amounts_of,
            fractions=self._features.DRAFractionalCapacityRange,
        )

    def _structure(
        self, device_facts: tuple[DeviceFacts, ...], sources: tuple[Mapping[str, Quantity], ...]
    ) -> Structure:
        counters: list[dict[str, int]] = [{} for _ in sources]
        totals: list[int] = []
        draws: list[list[tuple[int, int]]] = []
        for facts in device_facts:
            mine: list[tuple[int, int]] = []
            for source, amounts, _ in facts.draws:
                counter_of = counters[source]
                for dimension, quantity in self._amounts[amounts].items():
                    counter = counter_of.get(dimension)
                    if counter is None:
                        counter = counter_of[dimension] = len(totals)
                        totals.append(sources[source][dimension].nano)
                    mine.append((counter, quantity.nano))
            draws.append(mine)
        compatibility = compatibility_of([facts.draws for facts in device_facts], self._features.groups)
        return scaled(tuple([facts.parents for facts in device_facts]), draws, totals, compatibility)
