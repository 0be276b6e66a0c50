"""Equality and membership with values known at compile time: most of what selectors do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from scheduler_core.base.version import Version
from scheduler_core.cel.errors import no_such_overload
from scheduler_core.cel.evaluate.steps import Code, Slots, Step, constant
from scheduler_core.cel.library.equality import equal, is_nan
from scheduler_core.cel.tree import BOOL, BYTES, DOUBLE, INT, STRING, UINT, Call
from scheduler_core.cel.values import INDEXES, INT_MIN, Uint, map_key
from scheduler_core.cel.view import DeviceView
from scheduler_core.cel.work import BOUNDED

_HASHED: Final = frozenset({bool, int, Uint, float, str})
_NUMBERS: Final = frozenset({BOOL, INT, UINT, DOUBLE})
_TEXTS: Final = frozenset({STRING, BYTES})


def equality(node: Call, left: Step, right: Step, *, is_bounded: bool) -> Code:
    """Compare plain values directly, and a known value with values of its own type.

    Shape: ``is_bounded`` where a literal bounds the work, so that the comparison need not count.
    """
    first, second = left.run, right.run
    types = {argument.type for argument in node.arguments}
    if len(types) == 1 and types <= (_NUMBERS | _TEXTS if is_bounded else _NUMBERS):
        return lambda view, slots: first(view, slots) == second(view, slots)
    if not is_bounded:
        return lambda view, slots: equal(slots[0], first(view, slots), second(view, slots))
    if isinstance(right.constant, str) and _is_attribute(left):
        return _attribute_is(left, right.constant)
    if type(right.constant) in _HASHED:
        return _is_value(first, right.constant)
    return lambda view, slots: equal(BOUNDED, first(view, slots), second(view, slots))


def _is_attribute(step: Step) -> bool:
    return len(step.path) == 3 and step.path[0] == "attributes"


def _attribute_is(left: Step, text: str) -> Code:
    read = left.run
    _, domain, identifier = left.path

    def run(view: DeviceView, slots: Slots) -> bool:
        try:
            value = view.attributes[domain][identifier]
        except KeyError:
            value = read(view, slots)  # raises the right error
        return value == text if type(value) is str else equal(BOUNDED, value, text)

    return run


def _is_value(read: Code, known: Any) -> Code:
    kind = type(known)

    def run(view: DeviceView, slots: Slots) -> Any:
        value = read(view, slots)
        return value == known if type(value) is kind else equal(BOUNDED, value, known)

    return run


def is_set(step: Step) -> bool:
    """Whether a step is a list literal of plain values other than bytes: its elements are looked up."""
    values = step.constant
    return step.is_literal and isinstance(values, list) and all(type(value) in _HASHED for value in values)


def lookup(element: Step, literal: Step) -> Step:
    """Return whether an element is among the values of a literal."""
    values: list[Any] = literal.constant
    if not values:
        return constant(False, is_literal=True)
    read, found = element.run, found_in(values)
    texts = frozenset(value for value in values if type(value) is str)

    def run(view: DeviceView, slots: Slots) -> bool:
        value = read(view, slots)
        if type(value) is str:
            return value in texts
        return found(value)

    return Step(run, element.weight + literal.weight)


def found_in(values: list[Any]) -> Callable[[Any], bool]:
    """Return what says whether a value is among those of a literal for which ``is_set`` holds.

    Upstream puts them in a table, each number also as the other types of numbers if that loses nothing of a
    double. So 2**53 + 1 is not in ``[2.0**53]``, although the two are equal.
    Source: cel-go ``maybeOptimizeSetMembership``.
    """
    held = frozenset(same for value in values for same in _same_keys(value))

    def found(value: Any) -> bool:
        if type(value) is Version:  # upstream looks it up by a hash that it does not have
            raise no_such_overload("@in", value, values)
        return type(value) in INDEXES and not is_nan(value) and map_key(value) in held

    return found


def _same_keys(value: Any) -> Iterator[Any]:
    yield map_key(value)
    if type(value) is float:
        if value.is_integer() and value != INT_MIN:
            yield from (int(value), (Uint, int(value)))
    elif type(value) in (int, Uint):
        yield from (int(value), (Uint, int(value)), (float, float(value)))
