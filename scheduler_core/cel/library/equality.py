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

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.values import Domains, Duration, Timestamp, Uint
from scheduler_core.quantity import Quantity
from scheduler_core.version import Version

_NUMBERS: Final = frozenset({int, Uint, float})
_PLAIN: Final = frozenset({bool, int, Uint, float, str, bytes, Duration, Timestamp})
_MAPS: Final = frozenset({dict, Domains})
STRICT: Final[set[type]] = {Version}
"""Types whose equality with another type is an error; libraries with such types add them."""


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal.

    Raises: EvaluationError where a value of a Kubernetes library meets another type on its right.
    """
    kind, other = type(left), type(right)
    if kind is other and kind in _PLAIN:
        return bool(left == right)
    if left is None or right is None:
        return left is right
    if isinstance(left, Quantity):
        if not isinstance(right, Quantity):
            raise no_such_overload("_==_", left, right)
        return left.nano == right.nano
    if kind in STRICT:
        if kind is not other:
            raise no_such_overload("_==_", left, right)
        return bool(left == right)
    if kind in _NUMBERS:
        return other in _NUMBERS and bool(left == right)
    if kind is list:
        return other is list and _lists_equal(left, right)
    if kind in _MAPS:
        return other in _MAPS and _maps_equal(left, right)
    return kind is other and bool(left == right)


def _lists_equal(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(map(is_same, left, right))


def _maps_equal(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    return all(has_key(right, key) and is_same(value, right[key]) for key, value in left.items())


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
    return ("quantity", value.nano) if isinstance(value, Quantity) else (kind, value)


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
