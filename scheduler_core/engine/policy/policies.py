"""How an engine chooses among the answers that exist.

A policy is a value; the engine makes its own *chooser* of it, which is told of everything that changes.
Choosing never costs an answer: where one exists, a chooser gives one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from scheduler_core.base.effort import Effort
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.policy.part_kinds import PartKinds
from scheduler_core.engine.policy.scarcity_price import ScarcityPrice
from scheduler_core.engine.solve.plan import NodePlan, Solution
from scheduler_core.tables.component import Component

Priced = tuple[float, Solution]
"""An answer and its price: the least is taken, on one node and between nodes."""


class Chooser(Protocol):
    """A policy at work in one engine. Shape: ``compared`` how many nodes are worth asking for a price."""

    compared: int

    def entered(self, component: Component) -> None:
        """Note a new component."""
        ...

    def left(self, component: Component) -> None:
        """Note that a component is gone."""
        ...

    def moved(self, component: Component, before: int) -> None:
        """Note that the state of a component was ``before`` and is another now."""
        ...

    def choose(self, plan: NodePlan, components: Sequence[Component]) -> Priced | None:
        """Return the answer to take and its price, None where there is none. Raises: BeyondTables."""
        ...


class Policy(Protocol):
    """A value that names a way to choose."""

    def chooser(self, selector_cache: SelectorCache, effort: Effort) -> Chooser:
        """Return a chooser that knows of no component yet."""
        ...


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Take the first devices in listed order, as upstream does, on the first node."""

    def chooser(self, selector_cache: SelectorCache, effort: Effort) -> Chooser:  # noqa: ARG002 - nothing to weigh
        """Return a chooser that looks at nothing but the order."""
        return _First()


@dataclass(frozen=True, slots=True)
class BestFit:
    """Take the devices that use up the least of what is scarce.

    Shape: ``demands`` are pairs of a CEL selector and how often devices like that are asked for; empty:
           every kind of part is asked for as often as any other.
    """

    demands: tuple[tuple[str, float], ...] = ()

    def chooser(self, selector_cache: SelectorCache, effort: Effort) -> Chooser:
        """Return a chooser with totals of its own. Raises: SelectorError for a demand that is no selector."""
        return ScarcityPrice(PartKinds(self.demands, selector_cache, effort).part_counts)


FIRST_FIT: Final = FirstFit()
BEST_FIT: Final = BestFit()


def best_fit(demands: Mapping[str, float] | None = None) -> BestFit:
    """Return the policy that keeps the most future claims possible.

    Shape: ``demands`` says by CEL selector how often devices like that are asked for, in any unit.
    Raises: ValueError for a negative demand.
    """
    found = tuple((demands or {}).items())
    for selector, demand in found:
        if demand < 0:
            raise ValueError(f"demand for {selector!r} is {demand}; it must not be negative")
    return BestFit(found)


class _First:
    """Chooses by order alone."""

    compared = 1

    def entered(self, component: Component) -> None:
        """Do nothing."""

    def left(self, component: Component) -> None:
        """Do nothing."""

    def moved(self, component: Component, before: int) -> None:
        """Do nothing."""

    def choose(self, plan: NodePlan, components: Sequence[Component]) -> Priced | None:
        """Return the first answer; all have one price."""
        found = plan.first(components)
        return None if found is None else (0.0, found)
