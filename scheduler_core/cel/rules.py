"""Rules on a checked expression that the type checker does not know.

Kubernetes wants the elements of a list literal, and keys and values of a map literal, of one type.
Literal patterns, durations and timestamps are read when the expression is compiled (see ``calls``).
Source: ``cel.HomogeneousAggregateLiterals`` in Kubernetes' base environment.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.cel.errors import CompileError
from scheduler_core.cel.tree import (
    DYN,
    Call,
    CelType,
    Fold,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Presence,
    Select,
)


def check_rules(node: Node) -> None:
    """Check a tree.

    Raises: CompileError naming the two types that meet in one literal.
    """
    match node:
        case ListOf():
            _check_one_type(element.type for element in node.elements)
        case MapOf():
            _check_one_type(entry.key.type for entry in node.entries)
            _check_one_type(entry.value.type for entry in node.entries)
        case _:
            pass
    for child in children(node):
        if not (isinstance(node, Call) and node.function == "format" and isinstance(child, ListOf)):
            check_rules(child)
            continue
        for element in child.elements:
            check_rules(element)


def _check_one_type(types: Iterable[CelType]) -> None:
    known = [type_ for type_ in types if type_ != DYN]
    for type_ in known[1:]:
        if not _agree(known[0], type_):
            raise CompileError(f"expected type '{known[0]}' but found '{type_}'")


def _agree(left: CelType, right: CelType) -> bool:
    if DYN in (left, right):
        return True
    return left.name == right.name and all(map(_agree, left.parameters, right.parameters))


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below, in the order of evaluation."""
    match node:
        case Literal() | Name():
            return ()
        case Select(operand=operand) | Presence(operand=operand):
            return (operand,)
        case Call(arguments=arguments):
            return arguments
        case ListOf(elements=elements):
            return elements
        case MapOf(entries=entries):
            return tuple(part for entry in entries for part in (entry.key, entry.value))
        case Fold():
            return (node.range, node.initial, node.condition, node.step, node.result)
