"""Which devices of a pool may not be in use together, because of their ``compatibleOnlyWith`` expressions.

A device is checked against every device of its pool that is in use, even one that this node does not see.
Each must meet the other's expression. No device meets an expression that does not compile or that fails.
Rule S11 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import CompiledPool, Component

Conflicting = Mapping[Component, int]
"""Positions by component."""
_LIMIT: Final = 1 << 10  # states kept; then the cache is cleared


class NeighbourConflicts:
    """The conflicts within one pool."""

    def __init__(self, pool: CompiledPool, selector_cache: SelectorCache) -> None:
        self._components = pool.components
        self._judges = {one: _by_expression(one) for one in pool.components}
        texts = sorted({text for judges in self._judges.values() for text in judges})
        self._meets = {text: _meeting(text, pool, selector_cache) for text in texts}
        self._of: dict[tuple[Component, int], Conflicting] = {}
        self._in_use: dict[tuple[int, ...], Conflicting] = {}

    def of(self, component: Component, position: int) -> Conflicting:
        """Return the devices that may not be in use together with one device."""
        found = self._of.get((component, position))
        if found is None:
            found = self._of[component, position] = dict(self._found(component, position))
        return found

    def _found(self, component: Component, position: int) -> Iterator[tuple[Component, int]]:
        own = component.template.structure_class.device_facts[position].only_with
        unmet = [text for text, meets in self._meets.items() if not meets[component] >> position & 1]
        for other in self._components:
            mask = 0
            if own is not None:
                mask |= other.template.tables.everything & ~self._meets[own][other]
            for text in unmet:
                mask |= self._judges[other].get(text, 0)
            if mask:
                yield other, mask

    def with_what_is_in_use(self) -> Conflicting:
        """Return the devices that conflict with some device in use."""
        states = tuple([one.state for one in self._components])
        found = self._in_use.get(states)
        if found is None:
            if len(self._in_use) >= _LIMIT:
                self._in_use.clear()
            found = self._in_use[states] = self._united()
        return found

    def _united(self) -> Conflicting:
        united: dict[Component, int] = {}
        for component in self._components:
            for position in positions(component.state):
                for other, mask in self.of(component, position).items():
                    united[other] = united.get(other, 0) | mask
        return united


def _by_expression(component: Component) -> dict[str, int]:
    """Return the positions whose devices have each expression."""
    found: dict[str, int] = {}
    for position, facts in enumerate(component.template.structure_class.device_facts):
        if facts.only_with is not None:
            found[facts.only_with] = found.get(facts.only_with, 0) | 1 << position
    return found


def _meeting(text: str, pool: CompiledPool, selector_cache: SelectorCache) -> dict[Component, int]:
    """Return the positions of each component whose devices meet an expression."""
    try:
        selector = compile_selector(text)
    except SelectorError:
        return dict.fromkeys(pool.components, 0)
    return {one: selector_cache.masks((selector,), one)[0] for one in pool.components}
