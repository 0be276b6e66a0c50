"""Rules of Kubernetes that the type checker does not know.

The elements of a list literal, the keys of a map literal and its values must each be of one type; the
arguments of a format template such as ``"%d"`` must be of the types that its clauses take.
Literal patterns, durations and timestamps are read when the expression is compiled (see ``calls``).
Source: ``cel.HomogeneousAggregateLiterals`` in Kubernetes' base environment.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.cel.errors import CompileError, EvaluationError
from scheduler_core.cel.library.formatting import TAKES, clauses
from scheduler_core.cel.tree import (
    DYN,
    FREE,
    Call,
    CelType,
    ListOf,
    Literal,
    MapOf,
    Node,
    children,
)


def check_rules(node: Node, *, is_formatted: bool = False) -> None:
    """Check a tree. Anywhere inside a call of ``format`` the types in a literal may differ.

    Raises: CompileError naming the two types that meet in one literal.
    """
    match node:
        case ListOf() if not is_formatted:
            _check_one_type(
                _inside(element.type, index in node.optional) for index, element in enumerate(node.elements)
            )
        case MapOf() if not is_formatted:
            _check_one_type(entry.key.type for entry in node.entries)
            _check_one_type(_inside(entry.value.type, entry.is_optional) for entry in node.entries)
        case Call(function="flatten", overloads=("list_flatten",), arguments=(values,)):
            _check_nested(values.type)
        case Call(function="format", arguments=(Literal() as template, ListOf() as arguments)):
            _check_format(template, arguments)
        case _:
            pass
    is_formatted = is_formatted or (isinstance(node, Call) and node.function == "format")
    for child in children(node):
        check_rules(child, is_formatted=is_formatted)


def _check_format(template: Literal, arguments: ListOf) -> None:
    """Check the arguments of a known template against its clauses."""
    try:
        parts = [part for part in clauses(template.value, len(arguments.elements)) if part.kind]
    except EvaluationError as error:
        raise CompileError(str(error)) from None
    if len(parts) < len(arguments.elements):
        found = len(arguments.elements)
        raise CompileError(f"too many arguments supplied to format (expected {len(parts)}, got {found})")
    for part, argument in zip(parts, arguments.elements, strict=True):
        if argument.type not in (DYN, FREE) and argument.type.name not in TAKES[part.kind]:
            raise CompileError(f"format clause %{part.kind} cannot be used on {argument.type}")


def _inside(type_: CelType, is_optional: bool) -> CelType:
    return type_.parameters[0] if is_optional and type_.parameters else type_


def _check_one_type(types: Iterable[CelType]) -> None:
    first, *others = [*types] or [DYN]
    for other in others:
        if not _agree(first, other):
            raise CompileError(f"expected type '{first}' but found '{other}'")


def _check_nested(type_: CelType) -> None:
    """Refuse ``flatten`` on a list without lists inside, which the checker accepts."""
    if type_.parameters and type_.parameters[0].name not in ("list", DYN.name, FREE.name):
        raise CompileError(f"found no matching overload for 'flatten' applied to '{type_}'")


def _agree(left: CelType, right: CelType) -> bool:
    if FREE in (left, right):
        return True
    return left.name == right.name and all(map(_agree, left.parameters, right.parameters))
