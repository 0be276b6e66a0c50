"""Calls: which arguments upstream evaluates, what the call then costs, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from scheduler_core.cel.cost import CALL
from scheduler_core.cel.cost.actual import call_charge
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.evaluate.choice import function_of
from scheduler_core.cel.evaluate.comparisons import found_in, is_set
from scheduler_core.cel.evaluate.loops import inserted
from scheduler_core.cel.evaluate.steps import constant
from scheduler_core.cel.library.operators import OPERATORS
from scheduler_core.cel.measured.chains import is_literal
from scheduler_core.cel.measured.tally import Names, Tally, problem
from scheduler_core.cel.tree import Call, ListOf, Name, Node
from scheduler_core.cel.values import Option

_SEARCHES: Final = frozenset({"matches", "find", "findAll"})
_ONE_BY_ONE: Final = frozenset({"format"})
_ONE_FOR_ALL: Final = frozenset({*OPERATORS, "matches"})
_INSERT: Final = "cel.@mapInsert"
ValueOf = Callable[[Node], Any]


def call(node: Call, names: Names, value_of: ValueOf, tally: Tally) -> Any:
    """Return the result of a call, or an error, and count what it costs."""
    match node:
        case Call(function="_&&_" | "_||_" as symbol, arguments=terms):
            return _junction(symbol, terms, value_of)
        case Call(function="or" | "orValue" as name, arguments=(option, other)):
            return _alternative(name, value_of(option), other, value_of)
        case Call(function="@not_strictly_false", arguments=(condition,)):
            tally.charge(CALL)
            return value_of(condition) is not False
        case Call(function="@in", arguments=(_, ListOf(elements=()))):
            return False
        case Call(function="@in", arguments=(wanted, values)) if is_literal(values, names):
            if is_set(constant(value_of(values), is_literal=True)):
                return _lookup(value_of(wanted), value_of(values))
        case _:
            pass
    return _strict(node, names, value_of, tally)


def _junction(symbol: str, terms: Sequence[Node], value_of: ValueOf) -> Any:
    decides, failed = symbol == "_||_", None
    for term in terms:
        value = value_of(term)
        if value is decides:
            return decides
        if value is not (not decides) and failed is None:
            failed = problem(symbol, value)
    return (not decides) if failed is None else failed


def _alternative(name: str, option: Any, other: Node, value_of: ValueOf) -> Any:
    if not isinstance(option, Option):
        return problem(name, option)
    if not option.is_present:
        return value_of(other)
    return option.value if name == "orValue" else option


def _lookup(value: Any, values: list[Any]) -> Any:
    """Return whether a value is in a list literal, which upstream turns into a table."""
    if isinstance(value, EvaluationError):
        return value
    try:
        return found_in(values)(value)
    except EvaluationError as error:
        return error


def _strict(node: Call, names: Names, value_of: ValueOf, tally: Tally) -> Any:
    """Evaluate the arguments and call the function, if none of them is an error."""
    values: list[Any] = []
    for argument in node.arguments:
        values.append(value_of(argument))
        if isinstance(values[-1], EvaluationError) and _stops_at_error(node, names):
            break
    result = next((value for value in values if isinstance(value, EvaluationError)), None)
    if result is None:
        result = _result(node, names, values, tally)
    if len(values) == len(node.arguments):
        price = call_charge(node)
        tally.charge(price if isinstance(price, int) else price(tuple(values), result))
    return result


def _stops_at_error(node: Call, names: Names) -> bool:
    """Whether the arguments behind an error are not evaluated: so with more than two, and some with two.

    Source: ``evalVarArgs`` against ``evalUnary`` and ``evalBinary``; the bindings of each function.
    """
    if len(node.arguments) > 2 or node.function in _ONE_BY_ONE:
        return True
    if node.function in _SEARCHES and is_literal(node.arguments[1], names):
        return True
    return len(node.overloads) > 1 and node.function not in _ONE_FOR_ALL


def _result(node: Call, names: Names, values: list[Any], tally: Tally) -> Any:
    first = node.arguments[0] if node.arguments else None
    grows = isinstance(first, Name) and first.name in names and names[first.name].grows
    try:
        if node.function == _INSERT:
            return inserted(tally.work, *values)
        if grows and node.function == "_+_" and isinstance(values[0], list):
            tally.work.make(len(values[1]))
            values[0].extend(values[1])
            return values[0]
        function = function_of(node)
        return function.run(tally.work, *values) if function.counts else function.run(*values)
    except EvaluationError as error:
        return error
