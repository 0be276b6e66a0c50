"""The highest cost of functions on strings, and the longest results."""

from __future__ import annotations

import math
from typing import Final

from scheduler_core.cel import cost
from scheduler_core.cel.cost.arguments import Arguments, CallCost, Estimate
from scheduler_core.cel.cost.lists import item_size
from scheduler_core.cel.cost.ranges import LARGEST, NOTHING, ONE, Range
from scheduler_core.cel.tree import Call, Literal

_FORMAT_PATTERN: Final = 128


def traversal(position: int, factor: float = cost.TRAVERSAL) -> Estimate:
    """One pass over an argument; the result is as large."""

    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[position].size
        return CallCost(size.scaled(factor), size)

    return estimate


def reading(factor: float = cost.TRAVERSAL) -> Estimate:
    """One pass over the first argument, for a result without a size."""
    return lambda _node, _overload, arguments: CallCost(arguments[0].size.scaled(factor))


def replace(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass to read and one to write."""
    text, old, new = (argument.size for argument in arguments[:3])
    longest = _replaced(text.high, old.low, new.high, grows=new.high > old.low)
    shortest = _replaced(text.low, old.high, new.low, grows=old.high > new.low)
    size = Range(min(shortest, LARGEST), min(longest, LARGEST))
    return CallCost(text.scaled(2 * cost.TRAVERSAL), size)


def _replaced(text: int, old: int, new: int, *, grows: bool) -> int:
    """Return the length of a text in which everything that can be replaced is."""
    if old == 0:
        count, kept = min(text + 1, LARGEST), text
    elif not grows:
        count, kept = 0, text
    else:
        count, kept = min(math.ceil(float(text) / float(old)), LARGEST), 0
    return min(count * new, LARGEST) + kept


def split(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass to read and one to write; each character may be a part."""
    size = arguments[0].size
    most = size.high
    if len(arguments) > 2 and isinstance(arguments[2].node, Literal):
        most = arguments[2].node.value % (LARGEST + 1)
    return CallCost(size.scaled(2 * cost.TRAVERSAL), Range(0, most))


def join(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass over the result."""
    count, size = arguments[0].size, NOTHING
    if arguments[0].type.parameters:
        size = count * item_size(arguments[0])
    if len(arguments) > 1:
        separators = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size += arguments[1].size * separators
    return CallCost(size.scaled(cost.TRAVERSAL), size)


def search(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """A pattern applied to a string: each part of the one to each part of the other."""
    text, pattern = arguments[0].size, arguments[1].size
    total = (text + ONE).scaled(cost.TRAVERSAL) * pattern.scaled(cost.PATTERN)
    return CallCost(total, Range(0, text.high))


def matches(node: Call, overload: str, arguments: Arguments) -> CallCost:
    """A search whose result has no size."""
    return CallCost(search(node, overload, arguments).cost)


def contains(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """Each part of one string to each part of the other."""
    first, second = (argument.size.scaled(cost.TRAVERSAL) for argument in arguments)
    return CallCost(first * second)


def affix(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass over the beginning or end that is looked for."""
    return CallCost(arguments[1].size.scaled(cost.TRAVERSAL))


def bytes_of_string(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass; a character takes up to four bytes."""
    size = arguments[0].size
    return CallCost(size.scaled(cost.TRAVERSAL), Range(size.low, min(size.high * 4, LARGEST)))


def string_of_bytes(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass; a character takes up to four bytes."""
    size = arguments[0].size
    return CallCost(size.scaled(cost.TRAVERSAL), Range(size.low // 4, size.high))


def quote(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass; each character may be escaped."""
    size = arguments[0].size
    return CallCost(size.scaled(cost.TRAVERSAL), Range(size.low + 2, min(size.high * 2 + 2, LARGEST)))


def validate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """The longest pattern of all formats, applied to a string."""
    return CallCost(arguments[1].size.scaled(cost.TRAVERSAL).scaled(_FORMAT_PATTERN * cost.PATTERN))
