"""Functions on lists and maps, and on lists taken as sets.

Where elements are looked for, one that cannot be compared is simply another one. Source: CEL standard
definitions; cel-go ``ext/lists`` (version 3) and ``ext/sets``; the Kubernetes lists library, version 1.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.library.equality import is_same, key_of
from scheduler_core.cel.library.operators import add, sized
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import NONE, Duration, Option, Uint, some, type_name

_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_LONG: Final = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
_ZEROS: Final = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
MAX_INCLUDES: Final = 48
"""The longest list that ``includes`` takes. Source: Kubernetes, DRAListTypeAttributes."""


def _comparable(values: list[Any]) -> list[Any]:
    """Return values that Python can order: one comparable type."""
    names = set(map(type_name, values))
    if len(names) > 1:
        raise EvaluationError("list elements must have the same type")
    if not names <= _COMPARABLE_NAMES:
        raise no_such_overload("compare", *values[:1])
    return values


_COMPARABLE_NAMES: Final = {_LONG.get(name, name) for name in _COMPARABLE}


def is_sorted(values: list[Any]) -> bool:
    """Whether no element is smaller than the one before it."""
    _comparable(values)
    return all(not after < before for before, after in pairwise(values))


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    def total(values: list[Any]) -> Any:
        result = zero
        for value in values:
            result = add(result, value)
        return result

    return total


def smallest(values: list[Any]) -> Any:
    """Return the smallest element."""
    if not values:
        raise EvaluationError("min called on empty list")
    return min(_comparable(values))


def largest(values: list[Any]) -> Any:
    """Return the largest element."""
    if not values:
        raise EvaluationError("max called on empty list")
    return max(_comparable(values))


def index_of(values: list[Any], wanted: Any) -> int:
    """Return the first index of an element, -1 where there is none."""
    return next((index for index, value in enumerate(values) if is_same(value, wanted)), -1)


def last_index_of(values: list[Any], wanted: Any) -> int:
    """Return the last index of an element, -1 where there is none."""
    return next((index for index in reversed(range(len(values))) if is_same(values[index], wanted)), -1)


def includes(target: Any, wanted: Any) -> bool:
    """Whether a list has an element, or a value is the wanted one."""
    if type(target) is not list:
        return is_same(target, wanted)
    if len(target) > MAX_INCLUDES:
        raise EvaluationError(f"'includes' cannot be applied to a list of more than {MAX_INCLUDES} values")
    return any(is_same(value, wanted) for value in target)


def slice_of(values: list[Any], start: int, end: int) -> list[Any]:
    """Return the elements from ``start`` to before ``end``."""
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start must be at most end")
    if end > len(values):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def flatten(values: list[Any], depth: int = 1) -> list[Any]:
    """Put the elements of nested lists in their place, down to ``depth`` levels."""
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for value in values:
        flat += flatten(value, depth - 1) if type(value) is list and depth else [value]
    return flat


def sort_by(values: list[Any], keys: list[Any]) -> list[Any]:
    """Return the elements in the order of their keys."""
    _comparable(keys)
    return [values[index] for index in sorted(range(len(values)), key=keys.__getitem__)]


def sort(values: list[Any]) -> list[Any]:
    """Return the elements in order."""
    return sorted(_comparable(values))


def numbers(size: int) -> list[int]:
    """Return 0, 1, ... ``size`` - 1."""
    if size < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {size}")
    return list(range(sized(size)))


def distinct(values: list[Any]) -> list[Any]:
    """Return the first of each group of equal elements."""
    first: dict[Any, Any] = {}
    for value in values:
        first.setdefault(key_of(value), value)
    return list(first.values())


def first(values: list[Any]) -> Option:
    """Return the first element, if any."""
    return some(values[0]) if values else NONE


def last(values: list[Any]) -> Option:
    """Return the last element, if any."""
    return some(values[-1]) if values else NONE


def set_contains(values: list[Any], wanted: list[Any]) -> bool:
    """Whether every wanted value is an element."""
    return set(map(key_of, wanted)) <= set(map(key_of, values))


def set_equivalent(left: list[Any], right: list[Any]) -> bool:
    """Whether both have the same elements, however often."""
    return set(map(key_of, left)) == set(map(key_of, right))


def set_intersects(left: list[Any], right: list[Any]) -> bool:
    """Whether they have an element in common."""
    return not set(map(key_of, left)).isdisjoint(map(key_of, right))


def _for_each(names: tuple[str, ...], make: Callable[[str], Overload]) -> tuple[Overload, ...]:
    return tuple(make(name) for name in names)


OVERLOADS: Final = (
    Overload("size_list", "size(list<~A>)", "int", len),
    Overload("list_size", "list<~A>.size()", "int", len),
    Overload("size_map", "size(map<~A,~B>)", "int", len),
    Overload("map_size", "map<~A,~B>.size()", "int", len),
    *_for_each(
        _COMPARABLE,
        lambda t: Overload(f"list_{t}_is_sorted_bool", f"list<{t}>.isSorted()", "bool", is_sorted),
    ),
    *_for_each(_COMPARABLE, lambda t: Overload(f"list_{t}_min_{t}", f"list<{t}>.min()", t, smallest)),
    *_for_each(_COMPARABLE, lambda t: Overload(f"list_{t}_max_{t}", f"list<{t}>.max()", t, largest)),
    *_for_each(
        tuple(_ZEROS), lambda t: Overload(f"list_{t}_sum_{t}", f"list<{t}>.sum()", t, _sum(_ZEROS[t]))
    ),
    Overload("list_a_index_of_int", "list<~A>.indexOf(~A)", "int", index_of),
    Overload("list_a_last_index_of_int", "list<~A>.lastIndexOf(~A)", "int", last_index_of),
    Overload("list_includes_dyn_dyn", "dyn.includes(dyn)", "bool", includes),
    Overload("list_slice", "list<~T>.slice(int,int)", "list<~T>", slice_of),
    Overload("list_flatten", "list<list<~T>>.flatten()", "list<~T>", flatten),
    Overload("list_flatten_int", "list<dyn>.flatten(int)", "list<dyn>", flatten),
    *_for_each(
        _COMPARABLE,
        lambda t: Overload(f"list_{_LONG.get(t, t)}_sort", f"list<{t}>.sort()", f"list<{t}>", sort),
    ),
    *_for_each(
        _COMPARABLE,
        lambda t: Overload(
            f"list_{_LONG.get(t, t)}_sortByAssociatedKeys",
            f"list<~T>.@sortByAssociatedKeys(list<{t}>)",
            "list<~T>",
            sort_by,
        ),
    ),
    Overload("list_range", r"lists\.range(int)", "list<int>", numbers),
    Overload("list_reverse", "list<~T>.reverse()", "list<~T>", lambda values: values[::-1]),
    Overload("list_distinct", "list<~T>.distinct()", "list<~T>", distinct),
    Overload("list_first", "list<~A>.first()", "optional_type<~A>", first),
    Overload("list_last", "list<~A>.last()", "optional_type<~A>", last),
    Overload("list_sets_contains_list", r"sets\.contains(list<~T>,list<~T>)", "bool", set_contains),
    Overload("list_sets_equivalent_list", r"sets\.equivalent(list<~T>,list<~T>)", "bool", set_equivalent),
    Overload("list_sets_intersects_list", r"sets\.intersects(list<~T>,list<~T>)", "bool", set_intersects),
)
