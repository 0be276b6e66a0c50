"""The highest cost of one call, by its function and overload."""

from __future__ import annotations

from typing import Final

from scheduler_core.cel import cost
from scheduler_core.cel.cost import lists, texts
from scheduler_core.cel.cost.arguments import Arguments, CallCost, Estimate
from scheduler_core.cel.cost.ranges import ONE, Range
from scheduler_core.cel.library.lists import MAX_INCLUDES
from scheduler_core.cel.tree import Call

_COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes")
_TIMES: Final = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_ADDRESS: Final = Range(4, 16)
_FORMAT_LENGTH: Final = 64


def call_cost(node: Call, overload: str, arguments: Arguments) -> CallCost:
    """Return the estimate for an overload: by its id, else by its function, else one unit."""
    known = _BY_OVERLOAD.get(overload)
    if known is None and (node.function != "ip" or overload != "cidr_ip"):
        known = _BY_FUNCTION.get(node.function)
    return CallCost(ONE) if known is None else known(node, overload, arguments)


def _contains_network(node: Call, overload: str, arguments: Arguments) -> CallCost:
    total = (_ADDRESS + _ADDRESS).scaled(cost.TRAVERSAL)
    if node.function == "containsCIDR":
        total += _ADDRESS.scaled(cost.TRAVERSAL) + ONE
    if overload.endswith("_string"):
        total += arguments[1].size.scaled(cost.TRAVERSAL)
    return CallCost(total)


def _equality(node: Call, _overload: str, arguments: Arguments) -> CallCost:
    """One pass over the smaller side; one unit for types of fixed size."""
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


_BY_OVERLOAD: Final[dict[str, Estimate]] = {
    "list_slice": lists.slice_of,
    "list_flatten": lists.flatten,
    "list_flatten_int": lists.flatten,
    "list_range": lists.range_of,
    "list_reverse": lambda _node, _overload, arguments: lists.new_list(1, arguments[0].size),
    "list_distinct": lists.sort(0, 2),
    **{f"list_{t}_sort": lists.sort(0, lists.sort_factor(t)) for t in (*_COMPARABLE, *_TIMES)},
    **{
        f"list_{t}_sortByAssociatedKeys": lists.sort(1, lists.sort_factor(t)) for t in (*_COMPARABLE, *_TIMES)
    },
    "list_sets_contains_list": lists.sets(1),
    "list_sets_intersects_list": lists.sets(1),
    "list_sets_equivalent_list": lists.sets(2),
    "string_format": texts.reading(),
    "string_to_bytes": texts.bytes_of_string,
    "bytes_to_string": texts.string_of_bytes,
    "strings_quote": texts.quote,
    "starts_with_string": texts.affix,
    "ends_with_string": texts.affix,
    "in_list": lambda _node, _overload, arguments: CallCost(arguments[1].size),
    "matches": texts.matches,
    "matches_string": texts.matches,
    "contains_string": texts.contains,
    "add_string": lists.concatenation(cost.TRAVERSAL),
    "add_bytes": lists.concatenation(cost.TRAVERSAL),
    "add_list": lists.concatenation(None),
    **{
        f"{order}_{t}": _smaller
        for order in ("less", "less_equals", "greater", "greater_equals")
        for t in ("string", "bytes")
    },
    "equals": _equality,
    "not_equals": _equality,
}
_BY_FUNCTION: Final[dict[str, Estimate]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lists.elements),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), texts.traversal(0)),
    "includes": lambda _node, _overload, _arguments: CallCost(Range(1, MAX_INCLUDES)),
    "replace": texts.replace,
    "split": texts.split,
    "join": texts.join,
    "find": texts.search,
    "findAll": texts.search,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), texts.reading()),
    "ip.isCanonical": texts.reading(2 * cost.TRAVERSAL),
    "containsIP": _contains_network,
    "containsCIDR": _contains_network,
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), texts.reading()),
    "validate": texts.validate,
}
