"""Selector cache: which devices selectors choose. Devices that are equal in what is read are evaluated once.

Equal devices may be anywhere in the cluster. A selector of which it is unknown what it reads counts as one
that reads everything.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NoReturn

from scheduler_core.base.errors import AmountError, SelectorError
from scheduler_core.engine.claims.equal_devices import EqualDevices, Reads, ReadValues
from scheduler_core.model.device import QualifiedName
from scheduler_core.rules.selectors import DeviceView, Selector, view
from scheduler_core.tables.component import Component
from scheduler_core.tables.component_template import ComponentTemplate
from scheduler_core.tables.structure_class import Amounts

Selectors = tuple[Selector, ...]
FAILED: Final = "failed"
Result = bool | str
_LIMIT: Final = 1 << 16


class SelectorCache:
    """The results of all selectors so far. Shape: ``evaluations`` counts the devices evaluated."""

    def __init__(self) -> None:
        self.evaluations = 0
        self._known: dict[tuple[object, ...], Result] = {}
        self._latest: tuple[Component, dict[Reads, EqualDevices]] | None = None

    def masks(self, selectors: Selectors, component: Component) -> tuple[int, int]:
        """Return the positions that all selectors choose, and those on which one fails with an error."""
        chosen = failed = 0
        equal_devices, driver = (
            self._equal_devices(reads_of(selectors), component),
            component.template.structure_class.driver,
        )
        for read_values, mask in equal_devices.masks.items():
            result = self._result(selectors, driver, equal_devices, read_values)
            if result is True:
                chosen |= mask
            elif result is FAILED:
                failed |= mask
        return chosen, failed

    def _equal_devices(self, reads: Reads, component: Component) -> EqualDevices:
        """Return the devices as read. The groups of the latest component are kept for its next selectors."""
        if self._latest is None or self._latest[0] is not component:
            self._latest = component, {}
        known = self._latest[1]
        found = known.get(reads)
        if found is None:
            found = known[reads] = EqualDevices(reads, component)
        return found

    def _result(
        self, selectors: Selectors, driver: str, equal_devices: EqualDevices, read_values: ReadValues
    ) -> Result:
        full = (selectors, driver, read_values)
        known = self._known.get(full)
        if known is None:
            known = self._evaluate(selectors, equal_devices.view(read_values))
            if len(self._known) >= _LIMIT:
                self._known.clear()
            self._known[full] = known
        return known

    def _evaluate(self, selectors: Selectors, seen: DeviceView) -> Result:
        self.evaluations += 1
        try:
            return all(selector.matches(seen) for selector in selectors)
        except SelectorError:
            return FAILED


def fail(selectors: Selectors, capacity: Amounts, component: Component, position: int) -> NoReturn:
    """Raise the error of the selectors, or of an amount, on a device on which one is known to fail."""
    structure_class = component.template.structure_class
    seen = view(structure_class.driver, component.device(position), str(component.pool))
    for selector in selectors:
        selector.matches(seen)
    bad = structure_class.amount_error(position, capacity)
    assert bad is not None, "selectors are deterministic: one that failed fails again"
    raise AmountError(bad.amount, bad.reason, seen.name, pool=seen.pool)


@lru_cache(maxsize=1024)
def reads_of(selectors: Selectors) -> Reads:
    """Return what some selectors read, all together."""
    found: dict[str, set[QualifiedName]] = {"attributes": set(), "capacity": set()}
    for selector in selectors:
        if selector.reads is None:
            return Reads(None, None)
        for field, domain, identifier in selector.reads:
            found.setdefault(field, set()).add(QualifiedName(f"{domain}/{identifier}"))
    return Reads(tuple(sorted(found["attributes"])), tuple(sorted(found["capacity"])))


def open_slots(selectors: Selectors, template: ComponentTemplate) -> tuple[int, ...]:
    """Return the indexes of a component's own entries that the selectors read."""
    keys = reads_of(selectors).attributes
    structure_class = template.structure_class
    return tuple(
        template.slots[location.entry]
        for key in (structure_class.keys if keys is None else keys)
        for location in structure_class.locations(key)
        if location.entry in template.slots
    )
