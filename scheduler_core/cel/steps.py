"""The parts that a compiled expression is made of.

A *step* is a closure with what is known about it. A closure takes the device and the slots of this
evaluation: slot 0 holds what is left of the budget, the others the loop variables. ``cost`` is what the
step costs whenever it runs; whoever runs it charges that, so that a row of steps is charged once. An
expression that cannot pass the limit on any device is not charged at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from scheduler_core.cel.errors import CostExceeded, EvaluationError
from scheduler_core.cel.tree import Node
from scheduler_core.cel.view import DeviceView

Slots = list[Any]
Code = Callable[[DeviceView, Slots], Any]


class _Unknown:
    """The type of ``UNKNOWN``."""


UNKNOWN: Final = _Unknown()
COST_LIMIT: Final = 1_000_000
"""Source: resource.k8s.io/v1, CELSelectorExpressionMaxCost."""
BUDGET: Final = 300_000
"""What an expression may cost on one device if it could pass the limit on some: Python's tenth of a second.

Below the limit the API server admits expressions, and they are evaluated to the end; above it, it refuses
them, so that only those lose by this that never reached a scheduler.
"""
TOO_EXPENSIVE: Final = (
    f"actual cost limit exceeded: it may cost more than {COST_LIMIT} units, and took {BUDGET}"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A compiled node.

    Shape: ``constant`` is UNKNOWN but for values known at compile time; ``is_literal`` says that a
           constant costs nothing; ``inner`` is what a name, field or index costs as the beginning of a
           longer one, None for other nodes; ``path`` is (field, domain) or (field, domain, identifier)
           where the step reads just that of the device, else empty.
    """

    run: Code
    cost: int = 0
    constant: Any = UNKNOWN
    is_literal: bool = False
    inner: int | None = None
    path: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether the value is known at compile time."""
        return self.constant is not UNKNOWN

    @property
    def inner_cost(self) -> int:
        """Return what the step costs inside another that reaches through it."""
        return self.cost if self.inner is None else self.inner


@dataclass(slots=True)
class Plan:
    """What belongs to one compilation: its slots, and whether evaluation is charged for.

    Shape: ``has_surcharges`` adds to upstream's costs what Python needs longer for; ``fold_budget`` is what
           calls of constants may still cost that are computed at compile time.
    """

    is_metered: bool
    has_surcharges: bool = True
    slots: int = 1
    fold_budget: int = 50_000


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables that a node can see.

    Shape: ``names`` gives each its slot; ``lazy`` the code that reads a slot filled at its first use.
    """

    plan: Plan
    names: Mapping[str, int] = field(default_factory=dict)
    lazy: Mapping[int, Code] = field(default_factory=dict)

    def bind(self, name: str) -> tuple[Scope, int]:
        """Return a scope in which ``name`` has a new slot, and the slot."""
        slot = self.plan.slots
        self.plan.slots += 1
        return replace(self, names={**self.names, name: slot}), slot

    def bind_lazily(self, name: str, initial: Code) -> tuple[Scope, int]:
        """Return a scope in which ``name`` is computed by ``initial`` at its first use, and its slot."""
        scope, slot = self.bind(name)
        return replace(scope, lazy={**self.lazy, slot: _lazy(slot, initial)}), slot

    def price(self, cost: int) -> int:
        """Return ``cost``, or nothing where evaluation is not charged for."""
        return cost if self.plan.is_metered else 0

    def surcharge(self, cost: int) -> int:
        """Return what Python needs beyond upstream's units, or nothing where that is not charged for."""
        return cost if self.plan.is_metered and self.plan.has_surcharges else 0


def _lazy(slot: int, initial: Code) -> Code:
    def run(view: DeviceView, slots: Slots) -> Any:
        value = slots[slot]
        if value is UNKNOWN:
            try:
                value = slots[slot] = initial(view, slots)
            except EvaluationError as error:
                slots[slot] = error
                raise
        if type(value) is EvaluationError:
            raise value
        return value

    return run


Build = Callable[[Node, Scope], Step]


def constant(value: Any, *, cost: int = 0, is_literal: bool = False) -> Step:
    """Return a step that is a value."""
    return Step(lambda _view, _slots: value, cost, value, is_literal)


def charge(slots: Slots, cost: int) -> None:
    """Take ``cost`` from the budget.

    Raises: CostExceeded where it is used up.
    """
    slots[0] -= cost
    if slots[0] < 0:
        raise CostExceeded(TOO_EXPENSIVE)


def charged(step: Step, scope: Scope) -> Code:
    """Return the code of a step that does not always run: it charges its own cost."""
    return charging(step.run, scope.price(step.cost))


def charging(run: Code, cost: int) -> Code:
    """Return code that charges ``cost`` and then runs ``run``."""
    if not cost:
        return run

    def metered(view: DeviceView, slots: Slots) -> Any:
        charge(slots, cost)
        return run(view, slots)

    return metered
