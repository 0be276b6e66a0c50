"""Control flow: ``&&``, ``||`` and the conditional.

An error on one side of ``&&`` or ``||`` counts for nothing when the other side decides. Source: CEL
language definition, logical operators.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.steps import Build, Code, Scope, Slots, Step, charged, charging
from scheduler_core.cel.tree import BOOL, Call
from scheduler_core.cel.view import DeviceView


def conjunction(node: Call, scope: Scope, build: Build) -> Step:
    """Return ``left && right``."""
    return _junction(node, scope, build, decides=False)


def disjunction(node: Call, scope: Scope, build: Build) -> Step:
    """Return ``left || right``."""
    return _junction(node, scope, build, decides=True)


def _junction(node: Call, scope: Scope, build: Build, *, decides: bool) -> Step:
    left, right = (build(argument, scope) for argument in node.arguments)
    second = charged(right, scope)
    are_bools = all(argument.type == BOOL for argument in node.arguments)
    if not are_bools:
        return Step(_checked(left.run, second, decides, node.function), cost=left.cost)
    return Step((_or if decides else _and)(left.run, second), cost=left.cost)


def _and(left: Code, right: Code) -> Code:
    def run(view: DeviceView, slots: Slots) -> Any:
        try:
            if not left(view, slots):
                return False
        except EvaluationError:
            if right(view, slots):
                raise
            return False
        return right(view, slots)

    return run


def _or(left: Code, right: Code) -> Code:
    def run(view: DeviceView, slots: Slots) -> Any:
        try:
            if left(view, slots):
                return True
        except EvaluationError:
            if not right(view, slots):
                raise
            return True
        return right(view, slots)

    return run


def _checked(left: Code, right: Code, decides: bool, symbol: str) -> Code:
    """The same for values of unknown type: what is no bool is an error."""

    def side(code: Code, view: DeviceView, slots: Slots) -> bool:
        value = code(view, slots)
        if value is True or value is False:
            return value
        raise no_such_overload(symbol, value)

    def run(view: DeviceView, slots: Slots) -> bool:
        try:
            if side(left, view, slots) is decides:
                return decides
        except EvaluationError:
            if side(right, view, slots) is not decides:
                raise
            return decides
        return side(right, view, slots)

    return run


def conditional(node: Call, scope: Scope, build: Build) -> Step:
    """Return ``condition ? first : second``."""
    condition, first, second = (build(argument, scope) for argument in node.arguments)
    choose = condition.run
    on_true = charging(first.run, scope.price(first.inner_cost))
    on_false = charging(second.run, scope.price(second.inner_cost))

    def run(view: DeviceView, slots: Slots) -> Any:
        choice = choose(view, slots)
        if choice is True:
            return on_true(view, slots)
        if choice is False:
            return on_false(view, slots)
        raise no_such_overload("_?_:_", choice)

    return Step(run, cost=condition.cost, inner=condition.cost)
