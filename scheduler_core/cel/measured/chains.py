"""A name or a value with the fields and indexes behind it: an *attribute* in cel-go, evaluated as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.evaluate.access import element, is_present, optional_element
from scheduler_core.cel.evaluate.calls import CONVERSIONS
from scheduler_core.cel.measured.tally import Names, Tally
from scheduler_core.cel.tree import STRING, Call, ListOf, Literal, MapOf, Name, Node, Presence, Select
from scheduler_core.cel.values import NONE, Option, some

_INDEXES: Final = {"_[_]": False, "_?._": True, "_[?_]": True}
_CONDITIONAL: Final = "_?_:_"


@dataclass(frozen=True, slots=True)
class Qualifier:
    """One field or index. Shape: ``is_test`` asks only whether it is there."""

    key: Node
    is_optional: bool = False
    is_test: bool = False


def is_attribute(node: Node) -> bool:
    """Whether a node is a name, a conditional, or a field or an index of anything."""
    match node:
        case Name() | Select() | Presence():
            return True
        case Call(function=function):
            return function in _INDEXES or function == _CONDITIONAL
        case _:
            return False


def is_literal(node: Node, names: Names) -> bool:
    """Whether upstream computes a value when it compiles: it costs nothing when it is evaluated."""
    match node:
        case Literal():
            return True
        case Name(name=name):
            return name not in names and name != "device"
        case ListOf(elements=elements, optional=optional):
            return not optional and all(is_literal(part, names) for part in elements)
        case MapOf(entries=entries):
            return all(
                not entry.is_optional and is_literal(entry.key, names) and is_literal(entry.value, names)
                for entry in entries
            )
        case Call(function="@in", arguments=(_, ListOf(elements=()))):
            return True
        case Call(function=function, arguments=(argument,)):
            return function in CONVERSIONS and is_literal(argument, names)
        case _:
            return False


def chain_of(node: Node) -> tuple[Node, tuple[Qualifier, ...]]:
    """Return where an attribute begins, and its fields and indexes from left to right."""
    found: list[Qualifier] = []
    while True:
        match node:
            case Select(operand=operand, field=name):
                found.append(Qualifier(Literal(STRING, name)))
            case Presence(operand=operand, field=name):
                found.append(Qualifier(Literal(STRING, name), is_test=True))
            case Call(function=function, arguments=(operand, key)) if function in _INDEXES:
                found.append(Qualifier(key, _INDEXES[function]))
            case _:
                return node, tuple(reversed(found))
        node = operand


def qualified(
    tally: Tally, value: Any, qualifiers: tuple[Qualifier, ...], key_of: Callable[[Node], Any]
) -> Any:
    """Return what the qualifiers make of a value, or the first error. From an optional on all is optional."""
    if isinstance(value, Option) and not value.is_present:
        return value
    is_optional = isinstance(value, Option)
    value = value.value if isinstance(value, Option) else value
    for qualifier in qualifiers:
        is_optional = is_optional or qualifier.is_optional
        key = key_of(qualifier.key)
        if is_optional:
            found = _if_present(tally, value, qualifier, key)
            if not isinstance(found, Option) or not found.is_present:
                return found
            tally.charge(1)
            value = found.value
        else:
            value = _always(tally, value, qualifier, key)
            tally.charge(1)
            if isinstance(value, EvaluationError):
                return value
    return some(value) if is_optional else value


def _if_present(tally: Tally, value: Any, qualifier: Qualifier, key: Any) -> Option | EvaluationError:
    if isinstance(key, EvaluationError):
        return key
    if qualifier.is_test:
        return some(True) if is_present(value, key) else NONE
    try:
        return optional_element(tally.work, value, key)
    except EvaluationError as error:
        return error


def _always(tally: Tally, value: Any, qualifier: Qualifier, key: Any) -> Any:
    if isinstance(key, EvaluationError):
        return key
    if qualifier.is_test:
        return is_present(value, key)
    try:
        return element(tally.work, value, key)
    except EvaluationError as error:
        return error
