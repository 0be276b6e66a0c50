"""Which devices selectors choose, evaluated once per what they read.

Two devices that agree in everything an expression reads get one evaluation, wherever in the cluster they
are. A selector that says nothing of what it reads is taken to read everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from scheduler_core.engine.bits import positions
from scheduler_core.engine.component import Component
from scheduler_core.engine.skeleton import Body, identity
from scheduler_core.engine.template import Template
from scheduler_core.errors import SelectorError
from scheduler_core.model.device import Device, QualifiedName
from scheduler_core.selectors import Selector, view

Selectors = tuple[Selector, ...]
FAILED: Final = "failed"
Verdict = bool | str
_LIMIT: Final = 1 << 16


class Verdicts:
    """The answers of all selectors so far. Shape: ``evaluations`` counts devices that were looked at."""

    def __init__(self) -> None:
        self.evaluations = 0
        self._known: dict[tuple[object, ...], Verdict] = {}

    def masks(self, selectors: Selectors, component: Component) -> tuple[int, int]:
        """Return the positions that all selectors choose, and those on which one fails."""
        chosen = failed = 0
        reads = reads_of(selectors)
        for key, mask in _alike(reads, component).items():
            verdict = self._verdict(selectors, reads, component, mask, key)
            if verdict is True:
                chosen |= mask
            elif verdict is FAILED:
                failed |= mask
        return chosen, failed

    def _verdict(
        self, selectors: Selectors, reads: Reads, component: Component, mask: int, key: tuple[object, ...]
    ) -> Verdict:
        full = (selectors, component.template.skeleton.driver, key)
        known = self._known.get(full)
        if known is None:
            known = self._evaluate(selectors, reads, component, next(positions(mask)))
            if len(self._known) >= _LIMIT:
                self._known.clear()
            self._known[full] = known
        return known

    def _evaluate(self, selectors: Selectors, reads: Reads, component: Component, position: int) -> Verdict:
        self.evaluations += 1
        seen = view(component.template.skeleton.driver, _as_read(reads, component, position))
        try:
            return all(selector.matches(seen) for selector in selectors)
        except SelectorError:
            return FAILED


def fail(selectors: Selectors, component: Component, position: int) -> NoReturn:
    """Raise what selectors raise on a device that is known to fail one."""
    seen = view(component.template.skeleton.driver, component.device(position))
    for selector in selectors:
        selector.matches(seen)
    raise AssertionError("a selector that failed once fails again")


@dataclass(frozen=True, slots=True)
class Reads:
    """What selectors may look at. Shape: None for everything."""

    attributes: tuple[QualifiedName, ...] | None
    capacity: tuple[QualifiedName, ...] | None


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


def _as_read(reads: Reads, component: Component, position: int) -> Device:
    """Return a device with no more than what is read of it: making all of it takes longer than judging."""
    body = component.template.skeleton.bodies[position]
    names, amounts = reads.attributes, reads.capacity
    return Device(
        name=component.layout.names[position],
        attributes=component.attributes(position) if names is None else component.said(position, names),
        capacity=body.capacity
        if amounts is None
        else {name: body.capacity[name] for name in amounts if name in body.capacity},
        is_shareable=body.is_shareable,
    )


def open_slots(selectors: Selectors, template: Template) -> tuple[int, ...]:
    """Return which of a component's own values the selectors may look at."""
    keys = reads_of(selectors).attributes
    places = template.skeleton.places
    return tuple(
        template.slots[place.entry]
        for key in (places if keys is None else keys)
        for place in places.get(key, ())
        if place.entry in template.slots
    )


def _alike(reads: Reads, component: Component) -> dict[tuple[object, ...], int]:
    """Return the positions that agree in all that is read, by what they agree in."""
    alike: dict[tuple[object, ...], int] = {}
    skeleton = component.template.skeleton
    names = skeleton.places if reads.attributes is None else reads.attributes
    for group in skeleton.groups:
        is_spread = dict(zip(group.keys, group.spread, strict=True))
        differ = any(is_spread.get(name, False) for name in names)
        said: tuple[object, ...] = ()
        for number, position in enumerate(group.positions):
            if number == 0 or differ:
                pairs = component.said(position, names).items()
                said = tuple([(name, identity(value)) for name, value in pairs])
            body = skeleton.bodies[position]
            key = (said, body.is_shareable, _amounts(body, reads.capacity))
            alike[key] = alike.get(key, 0) | 1 << position
    return alike


def _amounts(body: Body, keys: tuple[QualifiedName, ...] | None) -> object:
    if keys is None:
        return body.number
    found = [(key, body.capacity.get(key)) for key in keys]
    return tuple([(key, amount.nano, amount.family) for key, amount in found if amount is not None])
