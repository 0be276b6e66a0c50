"""The highest cost of functions on lists, and the longest results."""

from __future__ import annotations

from scheduler_core.cel import cost
from scheduler_core.cel.cost.arguments import Argument, Arguments, CallCost, Estimate
from scheduler_core.cel.cost.device_sizes import size_at
from scheduler_core.cel.cost.ranges import LARGEST, ONE, UNKNOWN, Range, exactly
from scheduler_core.cel.tree import Call


def elements(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One unit for each element, and a pass over each string; one pass over a string."""
    target = arguments[0]
    if target.type.parameters:
        inner = target.type.parameters[0]
        each = ONE
        if inner.name in ("string", "bytes"):
            each += item_size(target).scaled(cost.TRAVERSAL)
        return CallCost(target.size * each)
    return CallCost(target.size.scaled(cost.TRAVERSAL))


def item_size(target: Argument) -> Range:
    """Return how large the elements of a list of the device can be."""
    size = size_at((*target.path, "@items")) if target.path else None
    return UNKNOWN if size is None else size


def concatenation(factor: float | None) -> Estimate:
    """Both sides together, at ``factor`` for each element; one unit where it is None."""

    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[0].size + arguments[1].size
        return CallCost(ONE if factor is None else size.scaled(factor), size)

    return estimate


def new_list(factor: float, size: Range) -> CallCost:
    """A new list of some size."""
    return CallCost(size.scaled(factor) + exactly(cost.CALL + cost.LIST), size)


def slice_of(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """A new list of the length between two literals."""
    target, start, end = arguments
    length = end.whole_number(target.size.high) - start.whole_number(0)
    return new_list(1, exactly(length % (LARGEST + 1)))


def range_of(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """A new list as long as a literal says."""
    return new_list(1, exactly(arguments[0].whole_number(LARGEST)))


def flatten(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """A new list; each level is a pass."""
    depth = arguments[1].whole_number(LARGEST) if len(arguments) > 1 else 1
    return new_list(float(depth), arguments[0].size)


def sort(position: int, factor: float) -> Estimate:
    """Every element compared with every other."""

    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[position].size
        return new_list(factor, size * size)

    return estimate


def sets(factor: float) -> Estimate:
    """Every element compared with every other."""

    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[0].size * arguments[1].size
        return CallCost(size.scaled(factor) + ONE)

    return estimate


def sort_factor(type_: str) -> float:
    """Return what one comparison in a sort costs."""
    return 2 + cost.TRAVERSAL if type_ in ("string", "bytes") else 2
