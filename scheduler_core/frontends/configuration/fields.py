"""What all kinds of configuration read from ``Fields``: values that may be absent, and choices."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from scheduler_core.codec.fields import Fields

_Choice = TypeVar("_Choice", bound=StrEnum)


def optional_flag(fields: Fields, key: str) -> bool | None:
    """Return a boolean, None where it is absent."""
    return fields.flag(key) if fields.has(key) else None


def optional_integer(fields: Fields, key: str, *, least: int, most: int) -> int | None:
    """Return an integer within the bounds, None where it is absent."""
    return fields.integer(key, least=least, most=most) if fields.has(key) else None


def choice(fields: Fields, key: str, choices: type[_Choice]) -> _Choice:
    """Return one of the choices. A missing field is refused."""
    text = fields.text(key)
    for one in choices:
        if text == one.value:
            return one
    raise fields.refuse(key, f"must be one of {', '.join(one.value for one in choices)}", text)


def optional_choice(fields: Fields, key: str, choices: type[_Choice]) -> _Choice | None:
    """Return one of the choices, None where the field is absent."""
    return choice(fields, key, choices) if fields.has(key) else None
