"""Equality and membership with what is known at compile time: the hot part of most selectors."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.base.version import Version
from scheduler_core.cel.errors import no_such_overload
from scheduler_core.cel.library.equality import equal
from scheduler_core.cel.library.operators import contains
from scheduler_core.cel.steps import Code, Slots, Step, constant
from scheduler_core.cel.tree import BOOL, BYTES, DOUBLE, INT, STRING, UINT, Call
from scheduler_core.cel.values import Uint
from scheduler_core.cel.view import DeviceView

_HASHED: Final = frozenset({bool, int, Uint, float, str})
_PLAIN: Final = frozenset({BOOL, INT, UINT, DOUBLE, STRING, BYTES})


def equality(node: Call, left: Step, right: Step) -> Code:
    """Compare plain values directly, and text that is known with whatever comes."""
    first, second = left.run, right.run
    types = {argument.type for argument in node.arguments}
    if len(types) == 1 and types <= _PLAIN:
        return lambda view, slots: first(view, slots) == second(view, slots)
    if isinstance(right.constant, str):
        return _attribute_is(left, right.constant) if _is_attribute(left) else _text_is(first, right.constant)
    return lambda view, slots: equal(first(view, slots), second(view, slots))


def _is_attribute(step: Step) -> bool:
    return len(step.path) == 3 and step.path[0] == "attributes"


def _attribute_is(left: Step, text: str) -> Code:
    read = left.run
    _, domain, identifier = left.path

    def run(view: DeviceView, slots: Slots) -> bool:
        try:
            value = view.attributes[domain][identifier]
        except KeyError:
            value = read(view, slots)  # raises what belongs here
        return value == text if type(value) is str else equal(value, text)

    return run


def _text_is(read: Code, text: str) -> Code:
    def run(view: DeviceView, slots: Slots) -> bool:
        value = read(view, slots)
        return value == text if type(value) is str else equal(value, text)

    return run


def is_set(step: Step) -> bool:
    """Whether a step is a list literal of plain values, bytes left out: its elements are looked up."""
    values = step.constant
    return step.is_literal and isinstance(values, list) and all(type(value) in _HASHED for value in values)


def lookup(element: Step, values: list[Any]) -> Step:
    """Return whether an element is among the values of a literal."""
    if not values:
        return constant(False, is_literal=True)
    read = element.run
    texts = frozenset(value for value in values if type(value) is str)

    def run(view: DeviceView, slots: Slots) -> bool:
        value = read(view, slots)
        if type(value) is str:
            return value in texts
        if type(value) is Version:  # upstream looks it up by a hash that it does not have
            raise no_such_overload("@in", value, values)
        return contains(value, values)

    return Step(run, element.cost)
