"""Chooses the part kinds of each component: the demands of the policy, or what its structure suggests."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.base.effort import Effort
from scheduler_core.engine.claims.selector_cache import SelectorCache, open_slots
from scheduler_core.engine.policy.part_counts import PartCounts, PartKind, part_kinds_of, share
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import Component
from scheduler_core.tables.component_template import ComponentTemplate
from scheduler_core.tables.entries import identity
from scheduler_core.tables.occupancy import OccupancyTables


class PartKinds:
    """Returns the part counts of every component; equal ones are one object.

    A device on which the selector of a demand fails with an error does not meet the demand.
    """

    def __init__(
        self, demands: Sequence[tuple[str, float]], selector_cache: SelectorCache, effort: Effort
    ) -> None:
        self._demands = tuple(((compile_selector(text),), weight) for text, weight in demands)
        self._selector_cache = selector_cache
        self._effort = effort
        self._by_tables: dict[OccupancyTables, PartCounts] = {}
        self._by_values: dict[tuple[ComponentTemplate, tuple[object, ...]], PartCounts] = {}
        self._by_masks: dict[tuple[OccupancyTables, tuple[int, ...]], PartCounts] = {}

    def part_counts(self, component: Component) -> PartCounts:
        """Return the part counts of a component."""
        if self._demands:
            return self._by_demand(component)
        tables = component.template.tables
        found = self._by_tables.get(tables)
        if found is None:
            found = self._by_tables[tables] = PartCounts(tables, part_kinds_of(tables), self._effort)
        return found

    def _by_demand(self, component: Component) -> PartCounts:
        slots = {slot for one, _ in self._demands for slot in open_slots(one, component.template)}
        key = (component.template, tuple([identity(component.own[slot]) for slot in sorted(slots)]))
        found = self._by_values.get(key)
        if found is None:
            masks = tuple(self._selector_cache.masks(one, component)[0] for one, _ in self._demands)
            found = self._by_values[key] = self._masked(component.template.tables, masks)
        return found

    def _masked(self, tables: OccupancyTables, masks: tuple[int, ...]) -> PartCounts:
        found = self._by_masks.get((tables, masks))
        if found is None:
            part_kinds = tuple(
                PartKind((number,), mask, weight * share(tables, next(positions(mask))))
                for number, (mask, (_, weight)) in enumerate(zip(masks, self._demands, strict=True))
                if mask
            )
            found = self._by_masks[tables, masks] = PartCounts(tables, part_kinds, self._effort)
        return found
