"""Equality and order of values, as cel-go has them.

Numbers are equal across their types, other values of different types are not equal. Values of the
Kubernetes libraries refuse to be compared with anything but their own kind. Source: cel-go
``common/types``; the ``Equal`` methods of apiserver ``pkg/cel``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from operator import ge, gt, le, lt
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.values import Domains, Duration, Option, Timestamp, Uint

_NUMBERS: Final = frozenset({int, Uint, float})
_PLAIN: Final = frozenset({bool, int, Uint, float, str, bytes, Duration, Timestamp})
_MAPS: Final = frozenset({dict, Domains})


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal.

    Raises: EvaluationError where a value of a Kubernetes library meets another type on its right.
    """
    kind, other = type(left), type(right)
    if kind is other and kind in _PLAIN:
        return bool(left == right)
    if left is None or right is None:
        return left is right
    compare = EQUALS.get(kind)
    return (kind is other and bool(left == right)) if compare is None else compare(left, right)


def make_strict(kind: type) -> None:
    """Make equality of a type with any other an error, as the Kubernetes libraries have it."""
    EQUALS[kind] = _strictly_equal


def _strictly_equal(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        raise no_such_overload("_==_", left, right)
    return bool(left == right)


def quantities_equal(left: Quantity, right: Any) -> bool:
    """Whether two amounts are equal, however they are held."""
    if not isinstance(right, Quantity):
        raise no_such_overload("_==_", left, right)
    return left.nano == right.nano


def _numbers_equal(left: Any, right: Any) -> bool:
    return type(right) in _NUMBERS and bool(left == right)


def _options_equal(left: Option, right: Any) -> bool:
    if not isinstance(right, Option):
        return False
    if not left.is_present or not right.is_present:
        return left.is_present is right.is_present
    return equal(left.value, right.value)


def _lists_equal(left: list[Any], right: Any) -> bool:
    return type(right) is list and len(left) == len(right) and all(map(is_same, left, right))


def _maps_equal(left: dict[Any, Any], right: Any) -> bool:
    if type(right) not in _MAPS or len(left) != len(right):
        return False
    return all(has_key(right, key) and is_same(value, right[key]) for key, value in left.items())


EQUALS: Final[dict[type, Callable[[Any, Any], bool]]] = {
    **dict.fromkeys(_NUMBERS, _numbers_equal),
    **dict.fromkeys(_MAPS, _maps_equal),
    list: _lists_equal,
    Option: _options_equal,
    Quantity: quantities_equal,
    Version: _strictly_equal,
}
"""Equality by the type on the left, where it is more than Python's; libraries add their types."""


def has_key(mapping: dict[Any, Any], key: Any) -> bool:
    """Whether a map holds a key. Python takes True for 1, CEL does not."""
    if type(key) not in _KEYS or key not in mapping:
        return False
    if key in (0, 1):
        is_bool = type(key) is bool
        return any(other == key and (type(other) is bool) is is_bool for other in mapping)
    return True


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal; values that cannot be compared are not."""
    try:
        return equal(left, right)
    except EvaluationError:
        return False


def key_of(value: Any) -> Any:
    """Return something hashable that is equal for equal values only."""
    kind = type(value)
    if kind is list:
        return ("list", *map(key_of, value))
    if kind in _MAPS:
        return ("map", frozenset((key_of(key), key_of(part)) for key, part in value.items()))
    if kind in _NUMBERS:
        return object() if isnan(value) else value  # NaN equals nothing
    if kind is Option:
        return ("optional", value.is_present, key_of(value.value))
    if isinstance(value, Quantity):
        return ("quantity", value.nano)
    return (kind, value)


_KEYS: Final = frozenset({bool, int, Uint, float, str})
_Order = Callable[[Any, Any], bool]


def _ordered(symbol: str, compare: _Order) -> _Order:
    def ordered(left: Any, right: Any) -> bool:
        kind, other = type(left), type(right)
        if (kind is other and kind in _PLAIN) or (kind in _NUMBERS and other in _NUMBERS):
            if (kind is float or other is float) and (isnan(left) or isnan(right)):
                raise EvaluationError("NaN values cannot be ordered")
            return compare(left, right)
        raise no_such_overload(symbol, left, right)

    return ordered


ORDER: Final[dict[str, _Order]] = {
    "_<_": _ordered("_<_", lt),
    "_<=_": _ordered("_<=_", le),
    "_>_": _ordered("_>_", gt),
    "_>=_": _ordered("_>=_", ge),
}
