"""A checked expression as a tree: every node with its type, every call with the overloads that may apply.

``decode`` makes it from the checker's answer; ``compiler`` and ``cost`` read it. Macros are expanded, and
``device.x`` is a selection on ``device``, however the checker resolved the name.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CelType:
    """A CEL type, such as ``map(string, list(int))``."""

    name: str
    parameters: tuple[CelType, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.parameters))
        return f"{self.name}({inner})" if inner else self.name


DYN: Final = CelType("dyn")
BOOL: Final = CelType("bool")
INT: Final = CelType("int")
UINT: Final = CelType("uint")
DOUBLE: Final = CelType("double")
STRING: Final = CelType("string")
BYTES: Final = CelType("bytes")
NULL: Final = CelType("null_type")
FREE: Final = CelType("free")
"""The type of the elements of an empty literal."""
DEVICE: Final = CelType("kubernetes.DRADevice")


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; ``value`` as ``values`` represents it."""

    type: CelType
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """The device, a loop variable, or the name of a type."""

    type: CelType
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """``operand.field``."""

    type: CelType
    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Presence:
    """``has(operand.field)``."""

    type: CelType
    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator.

    Shape: ``arguments`` has the receiver of a member call first; ``overloads`` more than one where the
           types are known at run time only.
    """

    type: CelType
    function: str
    overloads: tuple[str, ...]
    arguments: tuple[Node, ...]
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list literal. ``optional`` are the indexes of its ``?element`` entries."""

    type: CelType
    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Entry:
    """``key: value`` of a map literal, or ``?key: value``."""

    key: Node
    value: Node
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map literal."""

    type: CelType
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """The expansion of every loop macro: fold the range into the accumulator, then take the result.

    Shape: ``second`` is empty except in the macros with two variables, where ``first`` is index or key.
    """

    type: CelType
    first: str
    second: str
    range: Node
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node = Literal | Name | Select | Presence | Call | ListOf | MapOf | Fold


def is_bind(node: Fold) -> bool:
    """Whether a fold is ``cel.bind``, which expands to a loop over an empty range."""
    is_empty = isinstance(node.range, ListOf) and not node.range.elements
    return is_empty and isinstance(node.condition, Literal) and node.condition.value is False


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
