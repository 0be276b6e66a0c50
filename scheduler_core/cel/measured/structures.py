"""Lists and maps, element by element up to the first error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduler_core.cel.errors import EvaluationError, no_such_overload, shown
from scheduler_core.cel.tree import ListOf, MapOf, Node
from scheduler_core.cel.values import KEYS, Option, map_key


def list_of(node: ListOf, value_of: Callable[[Node], Any]) -> Any:
    """Return a list, or the first error of an element."""
    values: list[Any] = []
    for position, element in enumerate(node.elements):
        parts = _parts(value_of(element), position in node.optional)
        if isinstance(parts, EvaluationError):
            return parts
        values += parts
    return values


def map_of(node: MapOf, value_of: Callable[[Node], Any]) -> Any:
    """Return a map, or the first error of a key or a value."""
    values: dict[Any, Any] = {}
    for entry in node.entries:
        key = value_of(entry.key)
        if isinstance(key, EvaluationError):
            return key
        parts = _parts(value_of(entry.value), entry.is_optional)
        if isinstance(parts, EvaluationError):
            return parts
        if type(key) not in KEYS:
            return EvaluationError(f"unsupported key type: {shown(key)}")
        values.pop(map_key(key), None)  # an entry that is left out takes an earlier one with it
        values.update((map_key(key), part) for part in parts)
    return values


def _parts(value: Any, is_optional: bool) -> EvaluationError | tuple[Any, ...]:
    """Return the value to put in, none for an optional that is empty; or the error."""
    if isinstance(value, EvaluationError):
        return value
    if not is_optional:
        return (value,)
    if not isinstance(value, Option):
        return no_such_overload("[?_]", value)
    return (value.value,) if value.is_present else ()
