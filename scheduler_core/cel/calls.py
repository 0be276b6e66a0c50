"""Calls of functions and operators.

Where the checker knows the types there is one overload and no question; otherwise the types of the
arguments choose at run time. A call of constants is computed once. Source: cel-go ``interpreter/planner``.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.errors import CompileError, EvaluationError
from scheduler_core.cel.library.equality import equal
from scheduler_core.cel.library.operators import OPERATORS
from scheduler_core.cel.library.patterns import pattern
from scheduler_core.cel.overloads import Overload, Run, dispatcher
from scheduler_core.cel.registry import BY_ID, BY_NAME
from scheduler_core.cel.steps import Build, Code, Scope, Slots, Step, constant
from scheduler_core.cel.tree import BOOL, BYTES, DOUBLE, DYN, FREE, INT, STRING, UINT, Call, CelType, Literal
from scheduler_core.cel.values import TypeValue, type_name
from scheduler_core.cel.view import DeviceView

_PLAIN: Final = frozenset({BOOL, INT, UINT, DOUBLE, STRING, BYTES})
# Literals in these must be right: Kubernetes refuses the expression otherwise.
_CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
_SEARCHES: Final = frozenset({"matches", "find", "findAll"})


def call(node: Call, scope: Scope, build: Build) -> Step:
    """Compile a call of a function or an operator without control flow."""
    arguments = [build(argument, scope) for argument in node.arguments]
    cost = sum(argument.cost for argument in arguments) + 1
    function = _function(node)
    _check_pattern(node)
    if all(argument.is_constant for argument in arguments):
        return _folded(node, function, [argument.constant for argument in arguments], cost)
    if node.function == "_==_":
        return Step(_equality(node, arguments), cost=cost)
    return Step(_code(function, [argument.run for argument in arguments], arguments), cost=cost)


def _check_pattern(node: Call) -> None:
    """Read a literal pattern.

    Raises: CompileError where it is none.
    """
    if node.function in _SEARCHES and isinstance(wanted := node.arguments[1], Literal):
        try:
            pattern(wanted.value)
        except EvaluationError as error:
            raise CompileError(str(error)) from None


def _folded(node: Call, function: Run, values: list[Any], cost: int) -> Step:
    """Compute a call of constants now; its error is raised when the call is reached, if ever."""
    try:
        return constant(function(*values), cost)
    except EvaluationError as error:
        if node.function in _CONVERSIONS and isinstance(node.arguments[0], Literal):
            raise CompileError(str(error)) from None
        problem = str(error)

    def run(_view: DeviceView, _slots: Slots) -> Any:
        raise EvaluationError(problem)

    return Step(run, cost=cost)


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
    if not any(map(_is_unknown, types)):
        return overload.run
    return dispatcher(overload.name, (overload,))


def _is_unknown(type_: CelType) -> bool:
    return type_ in (DYN, FREE) or any(map(_is_unknown, type_.parameters))


def _code(function: Run, reads: list[Code], arguments: list[Step]) -> Code:
    match reads:
        case [first]:
            return lambda view, slots: function(first(view, slots))
        case [first, second] if arguments[1].is_constant:
            known = arguments[1].constant
            return lambda view, slots: function(first(view, slots), known)
        case [first, second]:
            return lambda view, slots: function(first(view, slots), second(view, slots))
        case _:
            return lambda view, slots: function(*[read(view, slots) for read in reads])


def _equality(node: Call, arguments: list[Step]) -> Code:
    """Compare plain values directly, and text that is known with whatever comes."""
    left, right = arguments
    first, second = left.run, right.run
    types = {argument.type for argument in node.arguments}
    if len(types) == 1 and types <= _PLAIN:
        return lambda view, slots: first(view, slots) == second(view, slots)
    if isinstance(right.constant, str):
        return _equals_text(left, right.constant)
    return lambda view, slots: equal(first(view, slots), second(view, slots))


def _equals_text(left: Step, text: str) -> Code:
    read = left.run
    if len(left.path) == 3 and left.path[0] == "attributes":
        _, domain, identifier = left.path

        def fused(view: DeviceView, slots: Slots) -> bool:
            try:
                value = view.attributes[domain][identifier]
            except KeyError:
                value = read(view, slots)  # raises what belongs here
            return value == text if type(value) is str else equal(value, text)

        return fused

    def run(view: DeviceView, slots: Slots) -> bool:
        value = read(view, slots)
        return value == text if type(value) is str else equal(value, text)

    return run
