"""Which devices selectors choose, evaluated once per what they read.

Two devices that agree in everything an expression reads get one evaluation, wherever in the cluster they
are. A selector that says nothing of what it reads is taken to read everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.engine.bits import positions
from scheduler_core.engine.component import Component
from scheduler_core.engine.template import Template, identity
from scheduler_core.errors import SelectorError
from scheduler_core.model.device import QualifiedName
from scheduler_core.selectors import Selector, view

Selectors = tuple[Selector, ...]
FAILED: Final = "failed"
Verdict = bool | str
_LIMIT: Final = 1 << 16


class Verdicts:
    """The answers of all selectors so far. Shape: ``evaluations`` counts the expressions evaluated."""

    def __init__(self) -> None:
        self.evaluations = 0
        self._known: dict[tuple[object, ...], Verdict] = {}

    def masks(self, selectors: Selectors, component: Component) -> tuple[int, int]:
        """Return the positions that all selectors choose, and those on which one fails."""
        chosen = failed = 0
        answers: dict[tuple[object, ...], Verdict] = {}
        for position in positions(component.template.shape.everything):
            key = self._key(selectors, component, position)
            verdict = answers.get(key)
            if verdict is None:
                verdict = answers[key] = self._verdict(selectors, component, position, key)
            if verdict is True:
                chosen |= 1 << position
            elif verdict is FAILED:
                failed |= 1 << position
        return chosen, failed

    def _verdict(
        self, selectors: Selectors, component: Component, position: int, key: tuple[object, ...]
    ) -> Verdict:
        full = (selectors, key)
        known = self._known.get(full)
        if known is None:
            known = self._evaluate(selectors, component, position)
            if len(self._known) >= _LIMIT:
                self._known.clear()
            self._known[full] = known
        return known

    def _evaluate(self, selectors: Selectors, component: Component, position: int) -> Verdict:
        seen = view(component.template.skeleton.driver, component.device(position))
        try:
            for selector in selectors:
                self.evaluations += 1
                if not selector.matches(seen):
                    return False
        except SelectorError:
            return FAILED
        return True

    def _key(self, selectors: Selectors, component: Component, position: int) -> tuple[object, ...]:
        skeleton = component.template.skeleton
        keys = attributes_read(selectors)
        bit = 1 << position
        values = tuple(
            (key, identity(value))
            for key in (skeleton.places if keys is None else keys)
            for value, mask in component.template.blocks(key, component.own)
            if mask & bit
        )
        return (skeleton.driver, skeleton.bodies[position].number, values)


def attributes_read(selectors: Sequence[Selector]) -> tuple[QualifiedName, ...] | None:
    """Return the attributes that selectors may look at, None where that is not known."""
    read: set[QualifiedName] = set()
    for selector in selectors:
        reads = getattr(selector, "reads", None)
        if reads is None:
            return None
        read |= reads
    return tuple(sorted(read))


def open_slots(selectors: Sequence[Selector], template: Template) -> tuple[int, ...]:
    """Return which of a component's own values the selectors may look at."""
    keys = attributes_read(selectors)
    places = template.skeleton.places
    return tuple(
        template.slots[index]
        for key in (places if keys is None else keys)
        for index, _ in places.get(key, ())
        if index in template.slots
    )
