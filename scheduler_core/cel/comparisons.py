"""Equality and membership with what is known at compile time: the hot part of most selectors."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.library.equality import equal
from scheduler_core.cel.library.operators import contains
from scheduler_core.cel.steps import Code, Slots, Step
from scheduler_core.cel.tree import BOOL, BYTES, DOUBLE, INT, STRING, UINT, Call
from scheduler_core.cel.view import DeviceView

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


def membership(left: Step, right: Step) -> Code:
    """Look up an element among known ones."""
    read, values = left.run, right.constant
    if not isinstance(values, list) or not all(type(value) is str for value in values):
        return lambda view, slots: contains(read(view, slots), values)
    texts = frozenset(values)

    def run(view: DeviceView, slots: Slots) -> Any:
        value = read(view, slots)
        return value in texts if type(value) is str else contains(value, values)

    return run
