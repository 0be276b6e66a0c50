"""Reads fields whose types the API server has checked, without trusting it: another type ends here.

A list where a name belongs would be found much later, when something looks the name up. Takes one value and
the path of its field; returns the value. Raises: WrongType, which ``controller.reading`` turns into a
``problem`` of the one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

_SHOWN: Final = 40  # characters of a value


class WrongType(Exception):
    """A field has a value of another type than the API has. Shape: ``rule`` is what it must be."""

    def __init__(self, field: str, value: object, rule: str) -> None:
        self.field = field
        self.value = value
        self.rule = rule
        super().__init__(f"{field}: {repr(value)[:_SHOWN]} {rule}")


def text(value: object, field: str) -> str:
    """Return a text; empty for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongType(field, value, "must be a string")
    return value


def name(value: object, field: str) -> str:
    """Return a text that is not empty."""
    found = text(value, field)
    if not found:
        raise WrongType(field, value, "must not be empty")
    return found


def integer(value: object, field: str) -> int:
    """Return an integer; 0 for None."""
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType(field, value, "must be an integer")
    return value


def texts(values: Iterable[object] | None, field: str) -> tuple[str, ...]:
    """Return a list of texts; empty for None."""
    if isinstance(values, str):
        raise WrongType(field, values, "must be a list")
    return tuple(text(value, f"{field}[{index}]") for index, value in enumerate(values or ()))


def pairs(values: Mapping[str, object] | None, field: str) -> tuple[tuple[str, str], ...]:
    """Return a map of texts, sorted by key; empty for None."""
    return tuple(sorted((key, text(value, f"{field}.{key}")) for key, value in (values or {}).items()))
