"""Which function of the libraries a call means: the one that the checker found, or a choice at run time.

The checker lets null pass as a value of most types, and knows nothing of a value of unknown type. A function
is called unguarded only where its arguments are surely of the right types. Loads all libraries.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.cel.library.registry import BY_ID, BY_NAME
from scheduler_core.cel.overloads import Function, Overload, dispatcher, guarded, unguarded
from scheduler_core.cel.tree import Call, Node, Select
from scheduler_core.cel.values import python_types

_NEVER_NULL: Final = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map"})


def library_function(node: Call) -> Function:
    """Return what a call of a function of the libraries does with its arguments."""
    chosen = [BY_ID[overload] for overload in node.overloads if overload in BY_ID]
    if len(chosen) == 1:
        return _one_overload(chosen[0], node.arguments)
    return dispatcher(node.function, BY_NAME[node.function])


def _one_overload(overload: Overload, arguments: tuple[Node, ...]) -> Function:
    """Return the function of an overload, guarded where an argument may be of another type."""
    are_right = len(arguments) == len(overload.accepts) and all(
        accepted is None or _is_surely(argument, accepted)
        for argument, accepted in zip(arguments, overload.accepts, strict=True)
    )
    return unguarded(overload) if are_right else guarded(overload)


def _is_surely(node: Node, accepted: frozenset[type]) -> bool:
    """Whether a value is of a type whatever happens: the checker lets null pass as most types."""
    if not accepted.issuperset(python_types(node.type.name)):
        return False
    return node.type.name in _NEVER_NULL or _is_capacity(node) or _is_made(node)


def _is_capacity(node: Node) -> bool:
    """Whether a node is ``device.capacity[domain].name``: always a quantity."""
    match node:
        case Select(operand=inside) | Call(function="_[_]", arguments=(inside, _)):
            pass
        case _:
            return False
    match inside:
        case (
            Call(function="_[_]", arguments=(Select(field="capacity"), _))
            | Select(operand=Select(field="capacity"))
        ):
            return True
        case _:
            return False


def _is_made(node: Node) -> bool:
    """Whether a node is a call whose function always makes a value of its type."""
    if not isinstance(node, Call) or len(node.overloads) != 1:
        return False
    overload = BY_ID.get(node.overloads[0])
    return overload is not None and overload.has_known_result
