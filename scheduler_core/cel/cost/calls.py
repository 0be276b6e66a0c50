"""What one call can cost at most, by its function and overload."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from scheduler_core.cel import cost
from scheduler_core.cel.cost.device_sizes import Path, size_at
from scheduler_core.cel.cost.ranges import LARGEST, NOTHING, ONE, UNKNOWN, Range, exactly
from scheduler_core.cel.tree import Call, CelType, Literal, Node

_COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes")
_TIMES: Final = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_ADDRESS: Final = Range(4, 16)
_FORMAT_LENGTH: Final = 64
_FORMAT_PATTERN: Final = 128


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, the receiver of a member included."""

    node: Node
    known_size: Range | None
    path: Path

    @property
    def size(self) -> Range:
        """Return the size, unlimited where it is not known."""
        return UNKNOWN if self.known_size is None else self.known_size

    @property
    def type(self) -> CelType:
        """Return the type."""
        return self.node.type

    def whole_number(self, default: int) -> int:
        """Return the value of an integer literal, ``default`` for anything else."""
        if isinstance(self.node, Literal) and type(self.node.value) is int:
            return max(self.node.value, 0)
        return default


@dataclass(frozen=True, slots=True)
class CallCost:
    """What a call costs without its arguments, and how large its result is where that is known."""

    cost: Range
    size: Range | None = None


Arguments = Sequence[Argument]
Estimate = Callable[[Call, str, Arguments], CallCost]


def call_cost(node: Call, overload: str, arguments: Arguments) -> CallCost:
    """Return what an overload costs: by its identity, by its function, or one unit."""
    known = _BY_OVERLOAD.get(overload)
    if known is None and (node.function != "ip" or overload != "cidr_ip"):
        known = _BY_FUNCTION.get(node.function)
    return CallCost(ONE) if known is None else known(node, overload, arguments)


def _traversal(position: int, factor: float = cost.TRAVERSAL) -> Estimate:
    """One pass over an argument; the result is as large."""

    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[position].size
        return CallCost(size.scaled(factor), size)

    return estimate


def _reading(factor: float = cost.TRAVERSAL) -> Estimate:
    """One pass over the first argument, for a result without a size."""
    return lambda _node, _overload, arguments: CallCost(arguments[0].size.scaled(factor))


def _elements(node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One unit for each element, and a pass over each string; one pass over a string."""
    target = arguments[0]
    if target.type.parameters:
        inner = target.type.parameters[0]
        each = ONE
        if inner.name in ("string", "bytes"):
            each += _item_size(target).scaled(cost.TRAVERSAL)
        return CallCost(target.size * each)
    if node.function == "includes":
        return CallCost(target.size)
    return CallCost(target.size.scaled(cost.TRAVERSAL))


def _item_size(target: Argument) -> Range:
    size = size_at((*target.path, "@items")) if target.path else None
    return UNKNOWN if size is None else size


def _replace(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
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


def _split(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    size = arguments[0].size
    most = size.high
    if len(arguments) > 2 and isinstance(arguments[2].node, Literal):
        most = arguments[2].node.value % (LARGEST + 1)
    return CallCost(size.scaled(2 * cost.TRAVERSAL), Range(0, most))


def _join(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    count, size = arguments[0].size, NOTHING
    if arguments[0].type.parameters:
        size = count * _item_size(arguments[0])
    if len(arguments) > 1:
        separators = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size += arguments[1].size * separators
    return CallCost(size.scaled(cost.TRAVERSAL), size)


def _search(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """A pattern applied to a string: each part of the one to each part of the other."""
    text, pattern = arguments[0].size, arguments[1].size
    total = (text + ONE).scaled(cost.TRAVERSAL) * pattern.scaled(cost.PATTERN)
    return CallCost(total, Range(0, text.high))


def _matches(node: Call, overload: str, arguments: Arguments) -> CallCost:
    return CallCost(_search(node, overload, arguments).cost)


def _contains(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    first, second = (argument.size.scaled(cost.TRAVERSAL) for argument in arguments)
    return CallCost(first * second)


def _affix(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    return CallCost(arguments[1].size.scaled(cost.TRAVERSAL))


def _contains_network(node: Call, overload: str, arguments: Arguments) -> CallCost:
    total = (_ADDRESS + _ADDRESS).scaled(cost.TRAVERSAL)
    if node.function == "containsCIDR":
        total += _ADDRESS.scaled(cost.TRAVERSAL) + ONE
    if overload.endswith("_string"):
        total += arguments[1].size.scaled(cost.TRAVERSAL)
    return CallCost(total)


def _validate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    return CallCost(arguments[1].size.scaled(cost.TRAVERSAL).scaled(_FORMAT_PATTERN * cost.PATTERN))


def _equality(node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass over the smaller side; one unit for what has a fixed size."""
    left, right = arguments
    if node.function == "_==_" and left.type == right.type:
        match left.type.name:
            case "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver":
                return CallCost(ONE)
            case "kubernetes.NamedFormat":
                return CallCost(Range(1, _FORMAT_LENGTH).scaled(cost.TRAVERSAL))
            case "kubernetes.URL":
                most = ONE if right.known_size is None else right.known_size
                return CallCost(Range(1, most.high).scaled(cost.TRAVERSAL))
            case _:
                pass
    return _smaller(node, "", arguments)


def _smaller(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    most = min(argument.size.high for argument in arguments)
    return CallCost(Range(1 if most else 0, most).scaled(cost.TRAVERSAL))


def _concatenation(factor: float | None) -> Estimate:
    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[0].size + arguments[1].size
        return CallCost(ONE if factor is None else size.scaled(factor), size)

    return estimate


def _bytes_of_string(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    size = arguments[0].size
    return CallCost(size.scaled(cost.TRAVERSAL), Range(size.low, min(size.high * 4, LARGEST)))


def _string_of_bytes(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    size = arguments[0].size
    return CallCost(size.scaled(cost.TRAVERSAL), Range(size.low // 4, size.high))


def _quote(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    size = arguments[0].size
    return CallCost(size.scaled(cost.TRAVERSAL), Range(size.low + 2, min(size.high * 2 + 2, LARGEST)))


def _new_list(factor: float, size: Range) -> CallCost:
    return CallCost(size.scaled(factor) + exactly(cost.CALL + cost.LIST), size)


def _slice(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    target, start, end = arguments
    length = end.whole_number(target.size.high) - start.whole_number(0)
    return _new_list(1, exactly(length % (LARGEST + 1)))


def _range(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    return _new_list(1, exactly(arguments[0].whole_number(LARGEST)))


def _flatten(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
    depth = arguments[1].whole_number(LARGEST) if len(arguments) > 1 else 1
    return _new_list(float(depth), arguments[0].size)


def _sort(position: int, factor: float) -> Estimate:
    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[position].size
        return _new_list(factor, size * size)

    return estimate


def _sets(factor: float) -> Estimate:
    def estimate(_node: Call, _overload: str, arguments: Arguments) -> CallCost:
        size = arguments[0].size * arguments[1].size
        return CallCost(size.scaled(factor) + ONE)

    return estimate


def _sort_factor(type_: str) -> float:
    return 2 + cost.TRAVERSAL if type_ in ("string", "bytes") else 2


_BY_OVERLOAD: Final[dict[str, Estimate]] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_range": _range,
    "list_reverse": lambda _node, _overload, arguments: _new_list(1, arguments[0].size),
    "list_distinct": _sort(0, 2),
    **{f"list_{t}_sort": _sort(0, _sort_factor(t)) for t in (*_COMPARABLE, *_TIMES)},
    **{f"list_{t}_sortByAssociatedKeys": _sort(1, _sort_factor(t)) for t in (*_COMPARABLE, *_TIMES)},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "string_format": _reading(),
    "string_to_bytes": _bytes_of_string,
    "bytes_to_string": _string_of_bytes,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": lambda _node, _overload, arguments: CallCost(arguments[1].size),
    "matches": _matches,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _concatenation(cost.TRAVERSAL),
    "add_bytes": _concatenation(cost.TRAVERSAL),
    "add_list": _concatenation(None),
    **{
        f"{order}_{t}": _smaller
        for order in ("less", "less_equals", "greater", "greater_equals")
        for t in ("string", "bytes")
    },
    "equals": _equality,
    "not_equals": _equality,
}
_BY_FUNCTION: Final[dict[str, Estimate]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _elements),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _traversal(0)),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _search,
    "findAll": _search,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), _reading()),
    "ip.isCanonical": _reading(2 * cost.TRAVERSAL),
    "containsIP": _contains_network,
    "containsCIDR": _contains_network,
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _reading()),
    "validate": _validate,
}
