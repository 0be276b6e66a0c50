"""Constants, and list and map literals. A literal of constants is a constant itself."""

from __future__ import annotations

from typing import Any

from scheduler_core.cel.errors import EvaluationError, no_such_overload, shown
from scheduler_core.cel.evaluate.steps import Build, Scope, Slots, Step, constant
from scheduler_core.cel.evaluate.weights import list_weight, literal_weight, map_weight
from scheduler_core.cel.tree import ListOf, Literal, MapOf
from scheduler_core.cel.values import KEYS, Option, map_key
from scheduler_core.cel.view import DeviceView


def literal(node: Literal) -> Step:
    """Compile a constant."""
    return constant(node.value, weight=literal_weight(node.value), is_literal=True)


def list_of(node: ListOf, scope: Scope, build: Build) -> Step:
    """Compile a list literal. An element written ``?e`` is left out where ``e`` is none."""
    elements = [build(element, scope) for element in node.elements]
    is_literal = not node.optional and all(element.is_literal for element in elements)
    weight = sum(element.weight for element in elements) + 1
    if not node.optional and all(element.is_constant for element in elements):
        values = [element.constant for element in elements]
        return constant(values, weight=weight, is_literal=is_literal)
    weight += list_weight(len(elements))
    reads = [element.run for element in elements]
    if not node.optional:
        return Step(lambda view, slots: [read(view, slots) for read in reads], weight)
    optional = node.optional

    def run(view: DeviceView, slots: Slots) -> list[Any]:
        values = (read(view, slots) for read in reads)
        return [
            part
            for position, value in enumerate(values)
            for part in (_present(value) if position in optional else (value,))
        ]

    return Step(run, weight)


def _present(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, Option):
        raise no_such_overload("[?_]", value)
    return (value.value,) if value.is_present else ()


def map_of(node: MapOf, scope: Scope, build: Build) -> Step:
    """Compile a map literal. An entry written ``?k: v`` is left out where ``v`` is none."""
    entries = [(build(entry.key, scope), build(entry.value, scope)) for entry in node.entries]
    has_optional = any(entry.is_optional for entry in node.entries)
    is_literal = not has_optional and all(key.is_literal and value.is_literal for key, value in entries)
    weight = sum(key.weight + value.weight for key, value in entries) + 1
    reads = [
        (key.run, value.run, entry.is_optional)
        for (key, value), entry in zip(entries, node.entries, strict=True)
    ]

    def run(view: DeviceView, slots: Slots) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for read_key, read_value, is_optional in reads:
            key, value = read_key(view, slots), read_value(view, slots)
            if type(key) not in KEYS:
                raise EvaluationError(f"unsupported key type: {shown(key)}")
            result.pop(map_key(key), None)  # an entry that is left out takes an earlier one with it
            for part in _present(value) if is_optional else (value,):
                result[map_key(key)] = part
        return result

    if is_literal and all(type(key.constant) in KEYS for key, _ in entries):
        values = {map_key(key.constant): value.constant for key, value in entries}
        return constant(values, weight=weight, is_literal=True)
    return Step(run, weight + map_weight(len(entries)))
