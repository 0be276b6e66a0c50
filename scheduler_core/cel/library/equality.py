"""Equality and order of values, as cel-go has them.

Numbers are equal across their types, other values of different types are not equal. Values of the
Kubernetes libraries refuse to be compared with anything but their own kind. One value may be inside another
many times over, so a comparison counts each value that it visits. Source: cel-go ``common/types``; the
``Equal`` methods of apiserver ``pkg/cel``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isnan
from operator import eq, ge, gt, le, lt
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.values import (
    INT_MIN,
    KEYS,
    Domains,
    Duration,
    Option,
    Timestamp,
    Uint,
    key_value,
    map_key,
)
from scheduler_core.cel.work import Work

_NUMBERS: Final = frozenset({int, Uint, float})
_TEXTS: Final = frozenset({str, bytes})
_PLAIN: Final = frozenset({bool, *_NUMBERS, *_TEXTS, Duration, Timestamp})
_MAPS: Final = frozenset({dict, Domains})
_STRUCTURES: Final = frozenset({list, Option, *_MAPS})
_KEY: Final = 24
_EXACT: Final = 2**53
"""Up to here every integer is a double."""
COMPARED: Final = 8
MISSING: Final = object()
"""No value: equal to nothing but itself."""
_Pairs = Iterator[tuple[Any, Any]]


def equal(work: Work, left: Any, right: Any) -> bool:
    """Whether two values are equal.

    Raises: EvaluationError where a value of a Kubernetes library meets another type on its right.
    """
    kind, other = type(left), type(right)
    if kind is other and kind in _PLAIN:
        if kind in _TEXTS:
            work.read(len(left))
        return bool(left == right)
    if kind is Option:
        return _options_equal(work, left, right)
    if kind in _STRUCTURES:
        return _structures_equal(work, left, right)
    if left is None or right is None:
        return left is right
    compare = EQUALS.get(kind)
    return (kind is other and bool(left == right)) if compare is None else compare(work, left, right)


def _options_equal(work: Work, left: Option, right: Any) -> bool:
    if not isinstance(right, Option):
        return False
    if not left.is_present or not right.is_present:
        return left.is_present is right.is_present
    work.spend(COMPARED)
    return equal(work, left.value, right.value)


def _structures_equal(work: Work, left: Any, right: Any) -> bool:
    """Whether two structures are equal: walk through both at once, without recursion."""
    open_: list[_Pairs] = [iter(((left, right),))]
    while open_:
        for one, other in open_[-1]:
            work.spend(COMPARED)
            if type(one) in _STRUCTURES:
                inside = _inside(work, one, other)
                if inside is None:
                    return False
                open_.append(inside)
                break
            if not is_same(work, one, other):
                return False
        else:
            open_.pop()
    return True


def _inside(work: Work, left: Any, right: Any) -> _Pairs | None:
    """Return the pairs that must be equal for two structures to be equal, None where they cannot be."""
    kind, other = type(left), type(right)
    if kind is Option:
        if other is not Option or left.is_present is not right.is_present:
            return None
        return iter(((left.value, right.value),))
    if kind is list:
        return zip(left, right, strict=True) if other is list and len(left) == len(right) else None
    if other not in _MAPS or len(left) != len(right):
        return None
    return ((value, find(work, right, key_value(held))) for held, value in left.items())


def make_strict(kind: type) -> None:
    """Make the comparison of a type with any other an error, as the Kubernetes libraries have it."""
    EQUALS[kind] = _strictly_equal


def _strictly_equal(_work: Work, left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        raise no_such_overload("_==_", left, right)
    return bool(left == right)


def quantities_equal(_work: Work, left: Quantity, right: Any) -> bool:
    """Whether two amounts are equal, however they are held."""
    if not isinstance(right, Quantity):
        raise no_such_overload("_==_", left, right)
    return left.nano == right.nano


def _numbers_equal(_work: Work, left: Any, right: Any) -> bool:
    return type(right) in _NUMBERS and bool(eq(*_as_doubles(left, right)))


def _as_doubles(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two numbers as CEL compares them: as doubles if one is a double, where Python is exact."""
    if type(left) is float or type(right) is float:
        return float(left), float(right)
    return left, right


EQUALS: Final[dict[type, Callable[[Work, Any, Any], bool]]] = {
    **dict.fromkeys(_NUMBERS, _numbers_equal),
    Quantity: quantities_equal,
    Version: _strictly_equal,
}
"""Equality by the type on the left, where it is more than Python's; libraries add their types."""


def is_nan(value: Any) -> bool:
    """Whether a value is the one that equals nothing, not even itself."""
    return type(value) is float and isnan(value)


def find(work: Work, mapping: dict[Any, Any], key: Any) -> Any:
    """Return the value of a key, MISSING where the map does not hold it.

    A number is found under the same number of another type too, if the map does not hold its own: a double
    only where it is an integer, and no map of Kubernetes is asked for a rounded one.
    Source: cel-go ``refValMapAccessor.Find``.
    """
    kind = type(key)
    if kind is str:
        work.read(len(key))
        return mapping.get(key, MISSING)
    if kind not in KEYS or is_nan(key):
        return MISSING
    value = mapping.get(map_key(key), MISSING)
    if value is not MISSING or kind not in _NUMBERS:
        return value
    if kind is not float:
        other = Uint(key) if kind is int else int(key)
        return mapping.get(map_key(other), MISSING)
    if not key.is_integer() or key == INT_MIN:  # which Go's conversion of doubles excludes
        return MISSING
    value = mapping.get(int(key), MISSING)
    return mapping.get((Uint, int(key)), MISSING) if value is MISSING else value


def is_same(work: Work, left: Any, right: Any) -> bool:
    """Whether two values are equal; values that cannot be compared are not."""
    try:
        return equal(work, left, right)
    except EvaluationError:
        return False


def differs(work: Work, left: Any, right: Any) -> bool:
    """Whether two values are not equal; values that cannot be compared are not."""
    return not is_same(work, left, right)


class NotHashed(Exception):
    """A value without a hash that follows CEL equality: values are compared one by one."""


def key_of(work: Work, value: Any, depth: int = 0) -> Any:
    """Return something hashable that is equal for equal values only.

    Raises: NotHashed for values whose equality is not transitive: integers and doubles that a double rounds
            (2**53 + 1 equals 2.0**53), and maps with keys of which one may be found as another (1 as 1u).
    """
    work.descend(depth)
    work.spend(_KEY)
    kind = type(value)
    if kind is list:
        return ("list", *(key_of(work, part, depth + 1) for part in value))
    if kind in _MAPS:
        if any(type(held) is tuple and held[0] is not bool for held in value):
            raise NotHashed
        entries = (
            (key_of(work, key_value(held), depth + 1), key_of(work, part, depth + 1))
            for held, part in value.items()
        )
        return ("map", frozenset(entries))
    if kind in _NUMBERS:
        if not -_EXACT <= value <= _EXACT:
            if is_nan(value):
                return object()
            raise NotHashed
        return value
    if kind is Option:
        return ("optional", value.is_present, key_of(work, value.value, depth + 1))
    if isinstance(value, Quantity):
        return ("quantity", value.nano)
    if kind in _TEXTS:
        work.read(len(value))
    return (kind, value)


_Order = Callable[[Any, Any], bool]


def _ordered(symbol: str, compare: _Order) -> Callable[[Work, Any, Any], bool]:
    def ordered(work: Work, left: Any, right: Any) -> bool:
        kind, other = type(left), type(right)
        if (kind is other and kind in _PLAIN) or (kind in _NUMBERS and other in _NUMBERS):
            if kind is float or other is float:
                left, right = float(left), float(right)
                if isnan(left) or isnan(right):
                    raise EvaluationError("NaN values cannot be ordered")
            if kind in _TEXTS:
                work.read(min(len(left), len(right)))
            return compare(left, right)
        raise no_such_overload(symbol, left, right)

    return ordered


ORDER: Final[dict[str, Callable[[Work, Any, Any], bool]]] = {
    "_<_": _ordered("_<_", lt),
    "_<=_": _ordered("_<=_", le),
    "_>_": _ordered("_>_", gt),
    "_>=_": _ordered("_>=_", ge),
}
