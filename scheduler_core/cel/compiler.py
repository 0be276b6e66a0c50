"""From a checked tree to a function of a device: one closure for each node.

The tree is walked once; what can be known without a device is known afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.cel import access, calls, literals, logic, loops, optional_calls
from scheduler_core.cel.cost.estimate import estimate
from scheduler_core.cel.cost.plain import is_plain
from scheduler_core.cel.steps import BUDGET, COST_LIMIT, Build, Code, Plan, Scope, Slots, Step, charged
from scheduler_core.cel.tree import Call, Fold, ListOf, Literal, MapOf, Name, Node, Presence, Select
from scheduler_core.cel.view import DeviceView

_SPECIAL: Final[dict[str, Callable[[Call, Scope, Build], Step]]] = {
    "_&&_": logic.conjunction,
    "_||_": logic.disjunction,
    "_?_:_": logic.conditional,
    "_[_]": access.index,
    "_?._": access.optional_select,
    "_[?_]": access.optional_select,
    "or": optional_calls.alternative,
    "orValue": optional_calls.alternative,
}
"""Calls that do not simply compute their arguments."""
_NO_SLOTS: Final[Slots] = []


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression.

    Shape: ``max_cost`` the most that it can cost on any device, None where that is far below the limit and
           was not counted.
    Units: CEL cost units.
    """

    code: Code
    slots: int
    max_cost: int | None

    def run(self, view: DeviceView) -> Any:
        """Return the value of the expression for a device.

        Raises: EvaluationError where it has none, CostExceeded where it costs more than the limit.
        """
        return self.code(view, self.new_slots())

    def new_slots(self) -> Slots:
        """Return the slots of one evaluation, the budget first."""
        return [BUDGET, *[None] * (self.slots - 1)] if self.slots else _NO_SLOTS


def compile_tree(node: Node) -> Program:
    """Compile a checked expression. Only one that may pass the limit is charged while it runs."""
    max_cost = None if is_plain(node) else estimate(node).high
    return planned(node, Plan(is_metered=max_cost is not None and max_cost > COST_LIMIT), max_cost)


def planned(node: Node, plan: Plan, max_cost: int | None) -> Program:
    """Compile as a plan says."""
    scope = Scope(plan)
    code = charged(build(node, scope), scope)
    needs_slots = plan.is_metered or plan.slots > 1
    return Program(code, plan.slots if needs_slots else 0, max_cost)


def build(node: Node, scope: Scope) -> Step:
    """Compile one node and what is below it."""
    match node:
        case Literal():
            return literals.literal(node)
        case Name():
            return access.name(node, scope)
        case Select():
            return access.select(node, scope, build)
        case Presence():
            return access.presence(node, scope, build)
        case Call():
            return _SPECIAL.get(node.function, calls.call)(node, scope, build)
        case ListOf():
            return literals.list_of(node, scope, build)
        case MapOf():
            return literals.map_of(node, scope, build)
        case Fold():
            return loops.fold(node, scope, build)
