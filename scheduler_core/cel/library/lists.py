"""Functions on lists and maps, and on lists taken as sets.

An element that cannot be compared with the wanted one is not equal to it. Source: CEL standard
definitions; cel-go ``ext/lists`` (version 3) and ``ext/sets``; the Kubernetes lists library, version 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.library.equality import COMPARED, NotHashed, is_same, key_of
from scheduler_core.cel.library.operators import add, contains
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import NONE, Duration, Option, Uint, some, type_name
from scheduler_core.cel.work import Work

_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_LONG: Final = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
_ZEROS: Final = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_ADDED: Final = 4
MAX_INCLUDES: Final = 48
"""The longest list that ``includes`` takes. Source: Kubernetes, DRAListTypeAttributes."""


def _comparable(work: Work, values: list[Any], rounds: int = 1) -> list[Any]:
    """Return values that Python can order: one comparable type. Each is compared in so many rounds."""
    work.spend(len(values))
    names = set(map(type_name, values))
    if len(names) > 1:
        raise EvaluationError("list elements must have the same type")
    if not names <= _COMPARABLE_NAMES:
        raise no_such_overload("compare", *values[:1])
    longest = max(map(len, values)) if names and names <= _TEXTS else 0
    work.spend(len(values) * rounds)
    work.read(len(values) * rounds * longest)
    return values


_COMPARABLE_NAMES: Final = {_LONG.get(name, name) for name in _COMPARABLE}
_TEXTS: Final = {"string", "bytes"}


def is_sorted(work: Work, values: list[Any]) -> bool:
    """Whether no element is smaller than the one before it."""
    _comparable(work, values)
    return all(not after < before for before, after in pairwise(values))


def _sum(zero: Any) -> Callable[[Work, list[Any]], Any]:
    def total(work: Work, values: list[Any]) -> Any:
        result = zero
        for value in values:
            work.spend(_ADDED)
            result = add(work, result, value)
        return result

    return total


def smallest(work: Work, values: list[Any]) -> Any:
    """Return the smallest element."""
    if not values:
        raise EvaluationError("min called on empty list")
    return min(_comparable(work, values))


def largest(work: Work, values: list[Any]) -> Any:
    """Return the largest element."""
    if not values:
        raise EvaluationError("max called on empty list")
    return max(_comparable(work, values))


def index_of(work: Work, values: list[Any], wanted: Any) -> int:
    """Return the first index of an element, -1 where there is none."""
    return _found(work, range(len(values)), values, wanted)


def last_index_of(work: Work, values: list[Any], wanted: Any) -> int:
    """Return the last index of an element, -1 where there is none."""
    return _found(work, reversed(range(len(values))), values, wanted)


def _found(work: Work, indexes: Iterable[int], values: list[Any], wanted: Any) -> int:
    for index in indexes:
        work.spend(COMPARED)
        if is_same(work, values[index], wanted):
            return index
    return -1


def includes(work: Work, target: Any, wanted: Any) -> bool:
    """Whether a list has an element, or a value is the wanted one."""
    if type(target) is not list:
        return is_same(work, target, wanted)
    if len(target) > MAX_INCLUDES:
        raise EvaluationError(f"'includes' cannot be applied to a list of more than {MAX_INCLUDES} values")
    return any(is_same(work, value, wanted) for value in target)


def slice_of(work: Work, values: list[Any], start: int, end: int) -> list[Any]:
    """Return the elements from ``start`` to before ``end``."""
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start must be at most end")
    if end > len(values):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    work.copy(end - start)
    return values[start:end]


def flatten(work: Work, values: list[Any], depth: int = 1) -> list[Any]:
    """Replace nested lists by their elements, down to ``depth`` levels."""
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    open_ = [iter(values)]
    while open_:
        for value in open_[-1]:
            work.spend(COMPARED // 2)
            if type(value) is list and len(open_) <= depth:
                open_.append(iter(value))
                break
            flat.append(value)
        else:
            open_.pop()
    return flat


def sort_by(work: Work, values: list[Any], keys: list[Any]) -> list[Any]:
    """Return the elements in the order of their keys."""
    work.copy(2 * len(values))
    _comparable(work, keys, len(keys).bit_length())
    if len(keys) != len(values):
        raise EvaluationError("sortBy needs one key for each element")
    return [values[index] for index in sorted(range(len(values)), key=keys.__getitem__)]


def sort(work: Work, values: list[Any]) -> list[Any]:
    """Return the elements in order."""
    work.copy(len(values))
    return sorted(_comparable(work, values, len(values).bit_length()))


def numbers(work: Work, size: int) -> list[int]:
    """Return 0, 1, ... ``size`` - 1."""
    if size < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {size}")
    work.make(size)
    return list(range(size))


def reverse(work: Work, values: list[Any]) -> list[Any]:
    """Return the elements from the last to the first."""
    work.copy(len(values))
    return values[::-1]


def distinct(work: Work, values: list[Any]) -> list[Any]:
    """Return the first of each group of equal elements."""
    first: dict[Any, Any] = {}
    try:
        for value in values:
            first.setdefault(key_of(work, value), value)
        return list(first.values())
    except NotHashed:
        different: list[Any] = []
        for value in values:
            if not contains(work, value, different):
                different.append(value)
        return different


def first(values: list[Any]) -> Option:
    """Return the first element, if any."""
    return some(values[0]) if values else NONE


def last(values: list[Any]) -> Option:
    """Return the last element, if any."""
    return some(values[-1]) if values else NONE


def _keys(work: Work, values: list[Any]) -> set[Any]:
    return {key_of(work, value) for value in values}


def set_contains(work: Work, values: list[Any], wanted: list[Any]) -> bool:
    """Whether every wanted value is an element."""
    try:
        return _keys(work, wanted) <= _keys(work, values)
    except NotHashed:
        return all(contains(work, value, values) for value in wanted)


def set_equivalent(work: Work, left: list[Any], right: list[Any]) -> bool:
    """Whether both have the same elements, however often."""
    try:
        return _keys(work, left) == _keys(work, right)
    except NotHashed:
        return set_contains(work, left, right) and set_contains(work, right, left)


def set_intersects(work: Work, left: list[Any], right: list[Any]) -> bool:
    """Whether they have an element in common."""
    try:
        return not _keys(work, left).isdisjoint(_keys(work, right))
    except NotHashed:
        return any(contains(work, value, right) for value in left)


def _for_each(names: tuple[str, ...], make: Callable[[str], Overload]) -> tuple[Overload, ...]:
    return tuple(make(name) for name in names)


OVERLOADS: Final = (
    Overload("size_list", "size(list<~A>)", "int", len),
    Overload("list_size", "list<~A>.size()", "int", len),
    Overload("size_map", "size(map<~A,~B>)", "int", len),
    Overload("map_size", "map<~A,~B>.size()", "int", len),
    *_for_each(
        _COMPARABLE,
        lambda t: Overload(
            f"list_{t}_is_sorted_bool", f"list<{t}>.isSorted()", "bool", is_sorted, counts=True
        ),
    ),
    *_for_each(
        _COMPARABLE, lambda t: Overload(f"list_{t}_min_{t}", f"list<{t}>.min()", t, smallest, counts=True)
    ),
    *_for_each(
        _COMPARABLE, lambda t: Overload(f"list_{t}_max_{t}", f"list<{t}>.max()", t, largest, counts=True)
    ),
    *_for_each(
        tuple(_ZEROS),
        lambda t: Overload(f"list_{t}_sum_{t}", f"list<{t}>.sum()", t, _sum(_ZEROS[t]), counts=True),
    ),
    Overload("list_a_index_of_int", "list<~A>.indexOf(~A)", "int", index_of, counts=True),
    Overload("list_a_last_index_of_int", "list<~A>.lastIndexOf(~A)", "int", last_index_of, counts=True),
    Overload("list_includes_dyn_dyn", "dyn.includes(dyn)", "bool", includes, counts=True),
    Overload("list_slice", "list<~T>.slice(int,int)", "list<~T>", slice_of, counts=True),
    Overload("list_flatten", "list<list<~T>>.flatten()", "list<~T>", flatten, counts=True),
    Overload("list_flatten_int", "list<dyn>.flatten(int)", "list<dyn>", flatten, counts=True),
    *_for_each(
        _COMPARABLE,
        lambda t: Overload(
            f"list_{_LONG.get(t, t)}_sort", f"list<{t}>.sort()", f"list<{t}>", sort, counts=True
        ),
    ),
    *_for_each(
        _COMPARABLE,
        lambda t: Overload(
            f"list_{_LONG.get(t, t)}_sortByAssociatedKeys",
            f"list<~T>.@sortByAssociatedKeys(list<{t}>)",
            "list<~T>",
            sort_by,
            counts=True,
        ),
    ),
    Overload("list_range", r"lists\.range(int)", "list<int>", numbers, counts=True),
    Overload("list_reverse", "list<~T>.reverse()", "list<~T>", reverse, counts=True),
    Overload("list_distinct", "list<~T>.distinct()", "list<~T>", distinct, counts=True),
    Overload("list_first", "list<~A>.first()", "optional_type<~A>", first),
    Overload("list_last", "list<~A>.last()", "optional_type<~A>", last),
    Overload(
        "list_sets_contains_list", r"sets\.contains(list<~T>,list<~T>)", "bool", set_contains, counts=True
    ),
    Overload(
        "list_sets_equivalent_list",
        r"sets\.equivalent(list<~T>,list<~T>)",
        "bool",
        set_equivalent,
        counts=True,
    ),
    Overload(
        "list_sets_intersects_list",
        r"sets\.intersects(list<~T>,list<~T>)",
        "bool",
        set_intersects,
        counts=True,
    ),
)
