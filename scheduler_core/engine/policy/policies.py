"""Policies: which answer is chosen where several exist.

A policy is a value. The engine asks it for a *chooser*, which keeps totals of its own and is called at every
change. A chooser returns an answer wherever one exists, whatever its price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from scheduler_core.base.effort import Effort
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.policy.part_kinds import PartKinds
from scheduler_core.engine.policy.scarcity_price import ScarcityPrice
from scheduler_core.engine.solve.plan import NodePlan, Solution
from scheduler_core.tables.component import Component

Priced = tuple[float, Solution]
"""A price and an answer. The answer with the least price is taken, on one node and among nodes."""


class Chooser(Protocol):
    """Chooses among the answers of one engine.

    Shape: ``compared`` how many of the nodes that fit are compared by price; ``fullest_first`` whether these
           are the nodes with the fewest unused components, or else the first ones by name;
           ``unused_price`` what each unused component of a node adds to the price of its answers.
    """

    compared: int
    fullest_first: bool
    unused_price: float

    def entered(self, component: Component) -> None:
        """Note that a component was added."""
        ...

    def left(self, component: Component) -> None:
        """Note that a component was removed."""
        ...

    def moved(self, component: Component, before: int) -> None:
        """Note that the state of a component changed. It was ``before``."""
        ...

    def choose(self, plan: NodePlan, components: Sequence[Component]) -> Priced | None:
        """Return the answer to take and its price, None where there is none. Raises: BeyondTables."""
        ...


class Policy(Protocol):
    """Makes the choosers of an engine."""

    def chooser(self, selector_cache: SelectorCache, effort: Effort) -> Chooser:
        """Return a chooser without any component."""
        ...


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Take the first devices in listed order, on the first node, as kube-scheduler's allocator does."""

    def chooser(self, selector_cache: SelectorCache, effort: Effort) -> Chooser:  # noqa: ARG002 - needs neither
        """Return a chooser that decides by order alone."""
        return _First()


@dataclass(frozen=True, slots=True)
class BestFit:
    """Take the devices that leave the most for future claims.

    Shape: ``demands`` are pairs of a CEL selector and how often such devices are requested; where there
           are none, all kinds of parts count as requested equally often.
    """

    demands: tuple[tuple[str, float], ...] = ()

    def chooser(self, selector_cache: SelectorCache, effort: Effort) -> Chooser:
        """Return a chooser. Raises: SelectorError for a demand that does not compile."""
        return ScarcityPrice(PartKinds(self.demands, selector_cache, effort).part_counts)


FIRST_FIT: Final = FirstFit()
BEST_FIT: Final = BestFit()


def best_fit(demands: Mapping[str, float] | None = None) -> BestFit:
    """Return the policy that leaves the most for future claims.

    Shape: ``demands`` has, by CEL selector, how often such devices are requested; only ratios count. Each
           demand is for one device. Leave demands out where claims want several devices of one GPU: they
           cannot say that, and more claims are refused with them than under first-fit (decision 0057).
    Raises: ValueError for a negative demand.
    """
    found = tuple((demands or {}).items())
    for selector, demand in found:
        if demand < 0:
            raise ValueError(f"demand for {selector!r} is {demand}; it must not be negative")
    return BestFit(found)


class _First:
    """Chooses by order alone. All answers have one price."""

    compared = 1
    fullest_first = False
    unused_price = 0.0

    def entered(self, component: Component) -> None:
        """Do nothing."""

    def left(self, component: Component) -> None:
        """Do nothing."""

    def moved(self, component: Component, before: int) -> None:
        """Do nothing."""

    def choose(self, plan: NodePlan, components: Sequence[Component]) -> Priced | None:
        """Return the first answer."""
        found = plan.first(components)
        return None if found is None else (0.0, found)
