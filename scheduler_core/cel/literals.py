"""Constants, and the literals of lists and maps. What is made of constants only is a constant itself."""

from __future__ import annotations

from typing import Any

from scheduler_core.cel.cost import LIST, MAP
from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.steps import Build, Scope, Slots, Step, constant
from scheduler_core.cel.tree import ListOf, Literal, MapOf
from scheduler_core.cel.values import Option, Uint
from scheduler_core.cel.view import DeviceView

_KEYS = (bool, int, Uint, float, str)


def literal(node: Literal) -> Step:
    """Return a constant."""
    return constant(node.value, is_literal=True)


def list_of(node: ListOf, scope: Scope, build: Build) -> Step:
    """Return a list. An element written ``?e`` is left out where it is none."""
    elements = [build(element, scope) for element in node.elements]
    is_literal = not node.optional and all(element.is_literal for element in elements)
    cost = 0 if is_literal else sum(element.cost for element in elements) + LIST
    if not node.optional and all(element.is_constant for element in elements):
        values = [element.constant for element in elements]
        return constant(values, cost=cost, is_literal=is_literal)
    reads = [element.run for element in elements]
    if not node.optional:
        return Step(lambda view, slots: [read(view, slots) for read in reads], cost=cost)
    optional = node.optional

    def run(view: DeviceView, slots: Slots) -> list[Any]:
        values = (read(view, slots) for read in reads)
        return [
            part
            for position, value in enumerate(values)
            for part in (_present(value) if position in optional else (value,))
        ]

    return Step(run, cost=cost)


def _present(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, Option):
        raise no_such_overload("[?_]", value)
    return (value.value,) if value.is_present else ()


def map_of(node: MapOf, scope: Scope, build: Build) -> Step:
    """Return a map. An entry written ``?k: v`` is left out where ``v`` is none."""
    entries = [(build(entry.key, scope), build(entry.value, scope)) for entry in node.entries]
    has_optional = any(entry.is_optional for entry in node.entries)
    is_literal = not has_optional and all(key.is_literal and value.is_literal for key, value in entries)
    cost = 0 if is_literal else sum(key.cost + value.cost for key, value in entries) + MAP
    reads = [
        (key.run, value.run, entry.is_optional)
        for (key, value), entry in zip(entries, node.entries, strict=True)
    ]

    def run(view: DeviceView, slots: Slots) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for read_key, read_value, is_optional in reads:
            key, value = read_key(view, slots), read_value(view, slots)
            if type(key) not in _KEYS:
                raise EvaluationError(f"unsupported key type: {key!r}")
            for part in _present(value) if is_optional else (value,):
                result[key] = part
        return result

    if is_literal and all(type(key.constant) in _KEYS for key, _ in entries):
        return constant({key.constant: value.constant for key, value in entries}, is_literal=True)
    return Step(run, cost)
