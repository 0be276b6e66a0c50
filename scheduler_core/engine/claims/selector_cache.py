"""Which devices selectors choose, evaluated once per what they read.

Two devices that agree in everything an expression reads get one evaluation, wherever in the cluster they
are. A selector that says nothing of what it reads is taken to read everything.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NoReturn

from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.equal_devices import EqualDevices, Reads, ReadValues
from scheduler_core.model.device import QualifiedName
from scheduler_core.rules.selectors import DeviceView, Selector, view
from scheduler_core.tables.component import Component
from scheduler_core.tables.component_template import ComponentTemplate

Selectors = tuple[Selector, ...]
FAILED: Final = "failed"
Verdict = bool | str
_LIMIT: Final = 1 << 16


class SelectorCache:
    """The answers of all selectors so far. Shape: ``evaluations`` counts devices that were looked at."""

    def __init__(self) -> None:
        self.evaluations = 0
        self._known: dict[tuple[object, ...], Verdict] = {}
        self._latest: tuple[Component, dict[Reads, EqualDevices]] | None = None

    def masks(self, selectors: Selectors, component: Component) -> tuple[int, int]:
        """Return the positions that all selectors choose, and those on which one fails."""
        chosen = failed = 0
        alike, driver = (
            self._equivalent(reads_of(selectors), component),
            component.template.structure_class.driver,
        )
        for told, mask in alike.masks.items():
            verdict = self._verdict(selectors, driver, alike, told)
            if verdict is True:
                chosen |= mask
            elif verdict is FAILED:
                failed |= mask
        return chosen, failed

    def _equivalent(self, reads: Reads, component: Component) -> EqualDevices:
        """Return the devices as read; what one selector saw of a component serves the next one too."""
        if self._latest is None or self._latest[0] is not component:
            self._latest = component, {}
        known = self._latest[1]
        found = known.get(reads)
        if found is None:
            found = known[reads] = EqualDevices(reads, component)
        return found

    def _verdict(self, selectors: Selectors, driver: str, alike: EqualDevices, told: ReadValues) -> Verdict:
        full = (selectors, driver, told)
        known = self._known.get(full)
        if known is None:
            known = self._evaluate(selectors, alike.view(told))
            if len(self._known) >= _LIMIT:
                self._known.clear()
            self._known[full] = known
        return known

    def _evaluate(self, selectors: Selectors, seen: DeviceView) -> Verdict:
        self.evaluations += 1
        try:
            return all(selector.matches(seen) for selector in selectors)
        except SelectorError:
            return FAILED


def fail(selectors: Selectors, component: Component, position: int) -> NoReturn:
    """Raise what selectors raise on a device that is known to fail one."""
    seen = view(component.template.structure_class.driver, component.device(position))
    for selector in selectors:
        selector.matches(seen)
    raise AssertionError("a selector that failed once fails again")


@lru_cache(maxsize=1024)
def reads_of(selectors: Selectors) -> Reads:
    """Return what selectors may look at, all of them together."""
    found: dict[str, set[QualifiedName]] = {"attributes": set(), "capacity": set()}
    for selector in selectors:
        if selector.reads is None:
            return Reads(None, None)
        for field, domain, identifier in selector.reads:
            found.setdefault(field, set()).add(QualifiedName(f"{domain}/{identifier}"))
    return Reads(tuple(sorted(found["attributes"])), tuple(sorted(found["capacity"])))


def open_slots(selectors: Selectors, template: ComponentTemplate) -> tuple[int, ...]:
    """Return which of a component's own values the selectors may look at."""
    keys = reads_of(selectors).attributes
    structure_class = template.structure_class
    return tuple(
        template.slots[place.entry]
        for key in (structure_class.keys if keys is None else keys)
        for place in structure_class.places(key)
        if place.entry in template.slots
    )
