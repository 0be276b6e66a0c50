"""Control flow: ``&&``, ``||`` and the conditional.

An error on one side of ``&&`` or ``||`` is ignored when the other side decides. Source: CEL
language definition, logical operators.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.evaluate.steps import Build, Code, Scope, Slots, Step, work_of
from scheduler_core.cel.evaluate.weights import ERROR
from scheduler_core.cel.tree import BOOL, Call
from scheduler_core.cel.view import DeviceView


def conjunction(node: Call, scope: Scope, build: Build) -> Step:
    """Compile ``left && right``."""
    return _junction(node, scope, build, decides=False)


def disjunction(node: Call, scope: Scope, build: Build) -> Step:
    """Compile ``left || right``."""
    return _junction(node, scope, build, decides=True)


def _junction(node: Call, scope: Scope, build: Build, *, decides: bool) -> Step:
    left, right = (build(argument, scope) for argument in node.arguments)
    weight = left.weight + right.weight + 1
    if all(argument.type == BOOL for argument in node.arguments):
        return Step((_or if decides else _and)(left.run, right.run), weight)
    return Step(_checked(left.run, right.run, decides, node.function), weight)


def _and(left: Code, right: Code) -> Code:
    def run(view: DeviceView, slots: Slots) -> Any:
        try:
            if not left(view, slots):
                return False
        except EvaluationError:
            if _after_error(right, view, slots):
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
            if not _after_error(right, view, slots):
                raise
            return True
        return right(view, slots)

    return run


def _after_error(code: Code, view: DeviceView, slots: Slots) -> Any:
    """Return the value of the right side after an error on the left. Loops count the error too."""
    if slots and slots[0] is not None:
        work_of(slots).spend(ERROR)
    return code(view, slots)


def _checked(left: Code, right: Code, decides: bool, symbol: str) -> Code:
    """The same for values of unknown type: a value that is no bool is an error."""

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
            if side(lambda view, slots: _after_error(right, view, slots), view, slots) is not decides:
                raise
            return decides
        return side(right, view, slots)

    return run


def conditional(node: Call, scope: Scope, build: Build) -> Step:
    """Compile ``condition ? first : second``."""
    condition, first, second = (build(argument, scope) for argument in node.arguments)
    choose, on_true, on_false = condition.run, first.run, second.run

    def run(view: DeviceView, slots: Slots) -> Any:
        choice = choose(view, slots)
        if choice is True:
            return on_true(view, slots)
        if choice is False:
            return on_false(view, slots)
        raise no_such_overload("_?_:_", choice)

    return Step(run, condition.weight + max(first.weight, second.weight) + 1)
