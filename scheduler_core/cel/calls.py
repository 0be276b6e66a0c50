"""Calls of functions and operators.

Where the checker knows the types there is one overload and no question; otherwise the types of the
arguments choose at run time. A call of constants is computed once. Source: cel-go ``interpreter/planner``
and its optimisations.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.comparisons import equality, is_set, lookup
from scheduler_core.cel.cost.actual import NEEDS_RESULT, Charge, call_charge, size_of
from scheduler_core.cel.errors import CompileError, CostExceeded, EvaluationError
from scheduler_core.cel.library.operators import OPERATORS
from scheduler_core.cel.library.patterns import pattern
from scheduler_core.cel.overloads import Overload, Run, dispatcher, guarded
from scheduler_core.cel.registry import BY_ID, BY_NAME
from scheduler_core.cel.steps import Build, Code, Plan, Scope, Slots, Step, charge, constant
from scheduler_core.cel.tree import DYN, FREE, Call, CelType, Literal
from scheduler_core.cel.values import TypeValue, type_name
from scheduler_core.cel.view import DeviceView

# Literals in these must be right: Kubernetes refuses the expression otherwise.
_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_SEARCHES: Final = frozenset({"matches", "find", "findAll"})
_SURCHARGE: Final = 4
_SURCHARGES: Final = {
    **dict.fromkeys(("format", "semver", "isSemver", "int", "double", "uint", "string"), 20),
    **dict.fromkeys(("duration", "timestamp", "ip", "cidr", "isIP", "isCIDR", "matches", "find"), 40),
    **dict.fromkeys(("url", "isURL", "getQuery", "ip.isCanonical", "findAll", "validate"), 60),
    **dict.fromkeys(("getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate"), 20),
    **dict.fromkeys(("getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds"), 20),
}
"""What Python needs for a call beyond upstream's units. Units: a fifth of a microsecond, about."""


def call(node: Call, scope: Scope, build: Build) -> Step:
    """Compile a call of a function or an operator without control flow."""
    arguments = [build(argument, scope) for argument in node.arguments]
    if node.function == "@in" and is_set(arguments[1]):
        return lookup(arguments[0], arguments[1].constant)
    _check_pattern(node)
    function, price = _function(node), _price(node, scope)
    cost = sum(argument.cost for argument in arguments)
    if all(argument.is_constant for argument in arguments):
        folded = _folded(node, function, arguments, price, scope.plan)
        if folded is not None:
            return folded
    if isinstance(price, int):
        return Step(_code(node, function, arguments), cost + price)
    if not scope.plan.is_metered:
        return Step(_code(node, function, arguments))
    return Step(_metered(node, function, arguments, price), cost)


def _price(node: Call, scope: Scope) -> int | Charge:
    """Return what the call itself costs."""
    price = call_charge(node)
    extra = scope.surcharge(_SURCHARGES.get(node.function, 0 if node.function in OPERATORS else _SURCHARGE))
    if isinstance(price, int):
        return price + extra
    dynamic = price
    return (lambda values, result: dynamic(values, result) + extra) if extra else price


def _check_pattern(node: Call) -> None:
    """Read a literal pattern.

    Raises: CompileError where it is none.
    """
    if node.function in _SEARCHES and isinstance(wanted := node.arguments[1], Literal):
        try:
            pattern(wanted.value)
        except EvaluationError as error:
            raise CompileError(str(error)) from None


def _folded(node: Call, function: Run, arguments: list[Step], price: int | Charge, plan: Plan) -> Step | None:
    """Compute a call of constants now; its error is raised when the call is reached, if ever.

    Shape: None where computing it would take long.
    """
    cost, values = sum(argument.cost for argument in arguments), tuple(step.constant for step in arguments)
    is_literal = node.function in _CONVERSIONS and arguments[0].is_literal
    plan.fold_budget -= price if isinstance(price, int) else max(map(size_of, values), default=0)
    if not isinstance(price, int) and node.function not in NEEDS_RESULT:
        price = price(values, None)
        plan.fold_budget -= price
    if plan.fold_budget < 0:
        return None
    try:
        result = function(*values)
    except CostExceeded:
        return None
    except EvaluationError as error:
        if is_literal:
            raise CompileError(str(error)) from None
        return Step(_raising(str(error)), cost + 1)
    if is_literal:
        return constant(result, is_literal=True)
    return constant(result, cost=cost + (price if isinstance(price, int) else price(values, result)))


def _raising(problem: str) -> Code:
    def run(_view: DeviceView, _slots: Slots) -> Any:
        raise EvaluationError(problem)

    return run


def _function(node: Call) -> Run:
    """Return what a call does with its arguments."""
    if node.function in OPERATORS:
        return OPERATORS[node.function]
    if node.function == "dyn":
        return lambda value: value
    if node.function == "type":
        return lambda value: TypeValue(type_name(value))
    chosen = [BY_ID[overload] for overload in node.overloads if overload in BY_ID]
    if len(chosen) == 1:
        return _one_overload(chosen[0], tuple(argument.type for argument in node.arguments))
    return dispatcher(node.function, BY_NAME[node.function])


def _one_overload(overload: Overload, types: tuple[CelType, ...]) -> Run:
    """Return the function of an overload, guarded where the checker does not know all types."""
    return guarded(overload) if any(map(_is_unknown, types)) else overload.run


def _is_unknown(type_: CelType) -> bool:
    return type_ in (DYN, FREE) or any(map(_is_unknown, type_.parameters))


def _code(node: Call, function: Run, arguments: list[Step]) -> Code:
    if node.function == "_==_":
        return equality(node, *arguments)
    match [argument.run for argument in arguments]:
        case [first]:
            return lambda view, slots: function(first(view, slots))
        case [first, second] if arguments[1].is_constant:
            known = arguments[1].constant
            return lambda view, slots: function(first(view, slots), known)
        case [first, second]:
            return lambda view, slots: function(first(view, slots), second(view, slots))
        case reads:
            return lambda view, slots: function(*[read(view, slots) for read in reads])


def _metered(node: Call, function: Run, arguments: list[Step], price: Charge) -> Code:
    """Return code that charges by the values; before it runs, where the result does not matter."""
    reads, is_late = [argument.run for argument in arguments], node.function in NEEDS_RESULT

    def run(view: DeviceView, slots: Slots) -> Any:
        values = tuple([read(view, slots) for read in reads])
        if not is_late:
            charge(slots, price(values, None))
        result = function(*values)
        if is_late:
            charge(slots, price(values, result))
        return result

    return run
