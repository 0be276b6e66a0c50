"""The parts that a compiled expression is made of.

A *step* is a closure with what is known about it. A closure takes the device and the slots of this
evaluation: slot 0 holds what is left of the budget, the others the loop variables. ``cost`` is what the
step costs whenever it runs; whoever runs it charges that, so that a whole expression without branches is
charged once, and an expression that cannot become expensive never.
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
TOO_EXPENSIVE: Final = f"actual cost limit exceeded: at most {COST_LIMIT} cost units"


@dataclass(frozen=True, slots=True)
class Step:
    """A compiled node.

    Shape: ``constant`` is UNKNOWN but for values known at compile time; ``path`` is (field, domain) or
           (field, domain, identifier) where the step reads just that of the device, else empty.
    """

    run: Code
    constant: Any = UNKNOWN
    cost: int = 0
    path: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether the value is known at compile time."""
        return self.constant is not UNKNOWN


@dataclass(slots=True)
class Plan:
    """What belongs to one compilation: its slots, and whether evaluation is charged for."""

    is_metered: bool
    slots: int = 1


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


def constant(value: Any, cost: int = 0) -> Step:
    """Return a step that is a value."""
    return Step(lambda _view, _slots: value, value, cost)


def charge(slots: Slots, cost: int) -> None:
    """Take ``cost`` from the budget.

    Raises: CostExceeded where it is used up.
    """
    slots[0] -= cost
    if slots[0] < 0:
        raise CostExceeded(TOO_EXPENSIVE)


def charged(step: Step, scope: Scope) -> Code:
    """Return the code of a step that does not always run: it charges its own cost."""
    run, cost = step.run, step.cost
    if not scope.plan.is_metered or cost == 0:
        return run

    def metered(view: DeviceView, slots: Slots) -> Any:
        charge(slots, cost)
        return run(view, slots)

    return metered
