"""The cost of one call on its values: a number, or a function of arguments and result."""

from __future__ import annotations

import math
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from scheduler_core.cel import cost
from scheduler_core.cel.library.named_formats import NamedFormat
from scheduler_core.cel.library.networks import Network
from scheduler_core.cel.tree import BOOL, DOUBLE, INT, UINT, Call
from scheduler_core.cel.values import Domains, Option
from scheduler_core.cel.view import FIELDS, DeviceView

Charge = Callable[[tuple[Any, ...], Any], int]
_COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes")
_EQUALITIES: Final = ("_==_", "_!=_")
_SCALARS: Final = frozenset({BOOL, INT, UINT, DOUBLE})
_TIMES: Final = ("google.protobuf.Timestamp", "google.protobuf.Duration")


def call_charge(node: Call) -> int | Charge:
    """Return what a call costs, without its arguments."""
    if node.function in _EQUALITIES and all(argument.type in _SCALARS for argument in node.arguments):
        return cost.CALL
    overload = node.overloads[0] if len(node.overloads) == 1 else ""
    known = _BY_OVERLOAD.get(overload)
    if known is None and overload != "cidr_ip":
        known = _BY_FUNCTION.get(node.function)
    return _STANDARD.get(overload, cost.CALL) if known is None else known


def size_of(value: Any) -> int:
    """Return the size of a value for the cost: characters, bytes or elements, else 1."""
    kind = type(value)
    if kind in _SIZED:
        return len(value)
    size = _SIZES.get(kind)
    return 1 if size is None else size(value)


_WITH_PARTS: Final = frozenset({list, dict, Domains})
_SIZED: Final = frozenset({str, bytes, *_WITH_PARTS})
_SIZES: Final[dict[type, Callable[[Any], int]]] = {
    IPv4Address: lambda _address: 4,
    IPv6Address: lambda _address: 16,
    Network: lambda network: math.ceil(network.length / 8),
    DeviceView: lambda _view: len(FIELDS),
    Option: lambda option: size_of(option.value) if option.is_present else 1,
}


def _pass(size: int, factor: float = cost.TRAVERSAL) -> int:
    return math.ceil(size * factor)


def _reading(position: int, factor: float = cost.TRAVERSAL) -> Charge:
    return lambda arguments, _result: _pass(size_of(arguments[position]), factor)


def _elements(arguments: tuple[Any, ...], _result: Any) -> int:
    return _traversal(arguments[0])


def _traversal(value: Any) -> int:
    """One unit for each scalar inside, a tenth for each byte of text.

    A part that occurs many times is visited once.
    """
    sizes: dict[int, int] = {}
    open_ = [value]
    while open_:
        parts = _parts(open_[-1])
        unknown = [part for part in parts if type(part) in _WITH_PARTS and id(part) not in sizes]
        if unknown:
            open_ += unknown
            continue
        known = open_.pop()
        sizes[id(known)] = sum(sizes[id(part)] if id(part) in sizes else _scalar(part) for part in parts)
    return sizes[id(value)] if type(value) in _WITH_PARTS else _scalar(value)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _scalar(value: Any) -> int:
    match value:
        case str():
            return int(len(value.encode(errors="replace")) * cost.TRAVERSAL)
        case bytes():
            return int(len(value) * cost.TRAVERSAL)
        case _:
            return 1


def _search(text: int, pattern: int) -> int:
    return _pass(text + 1) * _pass(pattern, cost.PATTERN)


def _pattern(arguments: tuple[Any, ...], _result: Any) -> int:
    return _search(size_of(arguments[0]), size_of(arguments[1]))


def _validate(arguments: tuple[Any, ...], _result: Any) -> int:
    format_, text = arguments
    return _search(size_of(text), format_.pattern_size) if isinstance(format_, NamedFormat) else cost.CALL


def _contains(arguments: tuple[Any, ...], _result: Any) -> int:
    return _pass(size_of(arguments[0])) * _pass(size_of(arguments[1]))


def _network(*, has_extra: bool = False, is_text: bool = False) -> Charge:
    def charge(arguments: tuple[Any, ...], _result: Any) -> int:
        network, other = map(size_of, arguments)
        total = _pass(network * 2)
        if has_extra:
            total += _pass(network) + 1
        return total + (_pass(other) if is_text else 0)

    return charge


def _smaller(arguments: tuple[Any, ...], _result: Any) -> int:
    left, right = arguments
    return _pass(min(size_of(left), size_of(right)))


def _concatenation(arguments: tuple[Any, ...], _result: Any) -> int:
    return _pass(sum(map(size_of, arguments)))


def _new_list(_arguments: tuple[Any, ...], result: Any) -> int:
    return size_of(result) + cost.CALL + cost.LIST


def _flatten(arguments: tuple[Any, ...], _result: Any) -> int:
    depth = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], int) else 1
    depth = 1 if depth < 0 else depth
    return size_of(arguments[0]) * depth + cost.CALL + cost.LIST


def _self_compare(position: int) -> Charge:
    def charge(arguments: tuple[Any, ...], _result: Any) -> int:
        values = arguments[position]
        if not isinstance(values, list):
            return cost.CALL
        factor = 2 + cost.TRAVERSAL if values and isinstance(values[0], str | bytes) else 2
        return int(len(values) ** 2 * factor) + cost.CALL + cost.LIST

    return charge


def _sets(factor: int) -> Charge:
    return lambda arguments, _result: size_of(arguments[0]) * size_of(arguments[1]) * factor + cost.CALL


def _joined(_arguments: tuple[Any, ...], result: Any) -> int:
    return _pass(size_of(result), 2 * cost.TRAVERSAL)


_BY_OVERLOAD: Final[dict[str, Charge]] = {
    "cidr_contains_ip_string": _network(is_text=True),
    "cidr_contains_cidr_string": _network(has_extra=True, is_text=True),
    "list_slice": _new_list,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_range": _new_list,
    "list_reverse": _new_list,
    "list_distinct": _self_compare(0),
    **{f"list_{t}_sort": _self_compare(0) for t in (*_COMPARABLE, *_TIMES)},
    **{f"list_{t}_sortByAssociatedKeys": _self_compare(1) for t in (*_COMPARABLE, *_TIMES)},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
_BY_FUNCTION: Final[dict[str, Charge]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _elements),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _reading(0)),
    **dict.fromkeys(("replace", "split"), _reading(0, 2 * cost.TRAVERSAL)),
    "join": _joined,
    "find": _pattern,
    "findAll": _pattern,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), _reading(0)),
    "ip.isCanonical": _reading(0, 2 * cost.TRAVERSAL),
    "containsIP": _network(),
    "containsCIDR": _network(has_extra=True),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _reading(0)),
    "validate": _validate,
}
_STANDARD: Final[dict[str, Charge]] = {
    "starts_with_string": _reading(0),
    "ends_with_string": _reading(0),
    "string_to_bytes": _reading(0),
    "bytes_to_string": _reading(0),
    "strings_quote": _reading(0),
    "string_format": _reading(0),
    "in_list": _reading(1, 1),
    "equals": _smaller,
    "not_equals": _smaller,
    **{
        f"{order}_{t}": _smaller
        for order in ("less", "less_equals", "greater", "greater_equals")
        for t in ("string", "bytes")
    },
    "add_string": _concatenation,
    "add_bytes": _concatenation,
    "matches": _pattern,
    "matches_string": _pattern,
    "contains_string": _contains,
}
