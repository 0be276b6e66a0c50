"""Calls of functions and operators.

Where the checker knows the types there is one overload and nothing to choose; otherwise the types of the
arguments choose at run time. A call of constants is computed once. Source: cel-go ``interpreter/planner``
and its optimisations.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.base.limits import VALUE_LENGTH
from scheduler_core.cel.errors import CompileError, EvaluationError, WorkExceeded
from scheduler_core.cel.evaluate.choice import function_of
from scheduler_core.cel.evaluate.comparisons import equality, is_set, lookup
from scheduler_core.cel.evaluate.invocations import bounded, counting, quiet
from scheduler_core.cel.evaluate.steps import Build, Code, Plan, Scope, Step, constant
from scheduler_core.cel.evaluate.weights import call_weight
from scheduler_core.cel.overloads import Function
from scheduler_core.cel.tree import DOUBLE, INT, UINT, Call, Literal

# Literals in these must be right: Kubernetes refuses the expression otherwise.
CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_SEARCHES: Final = frozenset({"matches", "find", "findAll"})
_NUMBERS: Final = frozenset({INT, UINT, DOUBLE})
_COMPARISONS: Final = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})
_OF_TEXT: Final = frozenset(
    {"contains", "startsWith", "endsWith", "matches", "find", "lowerAscii", "upperAscii", "trim"}
)
_OF_SECOND: Final = frozenset({"startsWith", "endsWith", "@in"})


def call(node: Call, scope: Scope, build: Build) -> Step:
    """Compile a call of a function or an operator without control flow."""
    arguments = [build(argument, scope) for argument in node.arguments]
    if node.function == "@in" and is_set(arguments[1]):
        return lookup(*arguments)
    size = _pattern_size(node, scope.plan)
    function = function_of(node)
    weight = call_weight(node) + sum(argument.weight for argument in arguments)
    if all(argument.is_constant for argument in arguments):
        folded = _folded(node, function, arguments, weight, scope.plan)
        if folded is not None:
            return folded
    is_short = _is_short(node, arguments)
    is_bounded = is_short or not function.counts or _is_bounded(node, arguments)
    scope.plan.counts |= not is_bounded
    if is_short:
        from scheduler_core.cel.library.patterns import search_work

        weight += VALUE_LENGTH + search_work(size, VALUE_LENGTH)
    return Step(_code(node, function, arguments, is_bounded), weight, is_short=is_short)


def _is_short(node: Call, arguments: list[Step]) -> bool:
    """Whether a call works on a text of the device, which is short, and on literals: its work is known."""
    if node.function not in _OF_TEXT or not arguments[0].is_short:
        return False
    return all(argument.is_literal for argument in arguments[1:])


def _is_bounded(node: Call, arguments: list[Step]) -> bool:
    """Whether a literal argument, or the type, bounds the work of a call."""
    if node.function in _COMPARISONS:
        return any(argument.is_literal for argument in arguments)
    if node.function == "_+_":
        return node.type in _NUMBERS
    return node.function in _OF_SECOND and arguments[1].is_literal


def _pattern_size(node: Call, plan: Plan) -> int:
    """Compile a literal pattern and return its size, 0 where there is none.

    Raises: CompileError where it is none, or where the patterns of the expression take too much work.
    """
    if node.function not in _SEARCHES or not isinstance(wanted := node.arguments[1], Literal):
        return 0
    from scheduler_core.cel.library.patterns import pattern  # re2 is for those who search

    try:
        return pattern(plan.compiling, wanted.value).size
    except (EvaluationError, WorkExceeded) as error:
        raise CompileError(str(error)) from None


def _folded(node: Call, function: Function, arguments: list[Step], weight: int, plan: Plan) -> Step | None:
    """Compute a call of constants now; its error is raised when the call is reached, if ever.

    Shape: None where that takes too much work.
    """
    values = [argument.constant for argument in arguments]
    is_literal = node.function in CONVERSIONS and arguments[0].is_literal
    try:
        plan.folding.spend(weight)
        result = function.run(plan.folding, *values) if function.counts else function.run(*values)
    except WorkExceeded:
        return None
    except EvaluationError as error:
        if is_literal:
            raise CompileError(str(error)) from None
        return Step(_raising(str(error)), weight)
    return constant(result, weight=weight, is_literal=is_literal)


def _raising(problem: str) -> Code:
    def run(_view: Any, _slots: Any) -> Any:
        raise EvaluationError(problem)

    return run


def _code(node: Call, function: Function, arguments: list[Step], is_bounded: bool) -> Code:
    if node.function == "_==_":
        return equality(node, *arguments, is_bounded=is_bounded)
    if not function.counts:
        return quiet(function.run, arguments)
    return (bounded if is_bounded else counting)(function.run, arguments)
