"""Entries: the attribute values of a component, and when two of them are the same.

Values are the same where no CEL expression can tell them apart. Python is less strict: ``True == 1``, and
two versions are equal although their texts differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import is_
from typing import Final

from scheduler_core.base.version import Version
from scheduler_core.model.device import AttributeValue, QualifiedName

Keys = tuple[QualifiedName, ...]
Entry = AttributeValue | tuple[AttributeValue, ...]
Entries = tuple[Entry, ...]
_TEXTS: Final[set[type]] = {str}  # only a string equals a string


def identity(value: Entry) -> tuple[object, ...]:
    """Return a key that two values share only where no CEL expression can tell them apart."""
    if isinstance(value, Version):
        return Version, value.text
    if isinstance(value, tuple):
        return tuple, tuple(map(identity, value))
    return type(value), value


def is_same(one: Entry, two: Entry) -> bool:
    """Whether no CEL expression can tell two values apart. (``True == 1`` in Python, not in CEL.)"""
    if one is two:
        return True
    if one != two or type(one) is not type(two):
        return False
    if isinstance(one, tuple) and isinstance(two, tuple):
        return set(map(type, one)) == _TEXTS or all(map(is_same, one, two))
    return not isinstance(one, Version) or identity(one) == identity(two)


def is_constant(column: tuple[Entry, ...], first: Entry) -> bool:
    """Whether no CEL expression can tell the values of a column from ``first``."""
    return column.count(first) == len(column) and (type(first) is str or _is_one(column, first))


def _is_one(column: tuple[Entry, ...], first: Entry) -> bool:
    """Whether all values are the same as ``first``, not only equal: equal values may differ in type."""
    return all(map(is_, column, repeat(first))) or all(map(is_same, column, repeat(first)))


def differing(columns: Sequence[Entries]) -> list[bool]:
    """Return, per column, whether a CEL expression can tell any of its values apart."""
    found = [column.count(column[0]) != len(column) for column in columns]
    for number, column in enumerate(columns):
        if type(column[0]) is not str and not found[number]:
            found[number] = not _is_one(column, column[0])
    return found
