"""Which profiles a component has: those that its shape suggests, or the demands that were given."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.base.effort import Effort
from scheduler_core.engine.claims.selector_cache import Verdicts, open_slots
from scheduler_core.engine.policy.part_counts import Profile, Stock, profiles_of, share
from scheduler_core.engine.tables.bits import positions
from scheduler_core.engine.tables.component import Component
from scheduler_core.engine.tables.component_template import Template
from scheduler_core.engine.tables.occupancy import Shape
from scheduler_core.engine.tables.structure_class import identity
from scheduler_core.rules.selectors import compile_selector


class Profiler:
    """Gives every component its stock; equal stocks are one object.

    A device on which the selector of a demand fails does not meet it.
    """

    def __init__(self, demands: Sequence[tuple[str, float]], verdicts: Verdicts, effort: Effort) -> None:
        self._demands = tuple(((compile_selector(text),), weight) for text, weight in demands)
        self._verdicts = verdicts
        self._effort = effort
        self._by_shape: dict[Shape, Stock] = {}
        self._by_look: dict[tuple[Template, tuple[object, ...]], Stock] = {}
        self._by_masks: dict[tuple[Shape, tuple[int, ...]], Stock] = {}

    def stock(self, component: Component) -> Stock:
        """Return the stock of a component."""
        if self._demands:
            return self._by_demand(component)
        shape = component.template.shape
        found = self._by_shape.get(shape)
        if found is None:
            found = self._by_shape[shape] = Stock(shape, profiles_of(shape), self._effort)
        return found

    def _by_demand(self, component: Component) -> Stock:
        slots = {slot for one, _ in self._demands for slot in open_slots(one, component.template)}
        key = (component.template, tuple([identity(component.own[slot]) for slot in sorted(slots)]))
        found = self._by_look.get(key)
        if found is None:
            masks = tuple(self._verdicts.masks(one, component)[0] for one, _ in self._demands)
            found = self._by_look[key] = self._masked(component.template.shape, masks)
        return found

    def _masked(self, shape: Shape, masks: tuple[int, ...]) -> Stock:
        found = self._by_masks.get((shape, masks))
        if found is None:
            profiles = tuple(
                Profile((number,), mask, weight * share(shape, next(positions(mask))))
                for number, (mask, (_, weight)) in enumerate(zip(masks, self._demands, strict=True))
                if mask
            )
            found = self._by_masks[shape, masks] = Stock(shape, profiles, self._effort)
        return found
