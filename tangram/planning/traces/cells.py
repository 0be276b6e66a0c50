"""Reads single values of traces. Wrong ones get a message with line, field, value and rule."""

from __future__ import annotations

from math import isfinite
from typing import Final

from tangram.errors import BadInput

LATEST_S: Final = 1e12
"""The latest time that a trace may have. Units: seconds."""
MOST_DEVICES: Final = 32
"""Devices that one arrival may ask for."""


def seconds(place: str, line: int, field: str, value: object, least: float = 0.0) -> float:
    """Return a time. Shape: ``least`` 0, or just above. Raises: BadInput."""
    try:
        found = float(str(value))
    except ValueError:
        found = -1.0
    if not (isfinite(found) and least <= found <= LATEST_S):
        rule = f"must be seconds, {'at least 0' if least == 0 else 'above 0'} and at most {LATEST_S:.0e}"
        raise bad(place, line, field, value, rule)
    return found


def whole(place: str, line: int, field: str, value: object, *, least: int, most: int) -> int:
    """Return a whole number. Raises: BadInput."""
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise bad(place, line, field, value, f"must be a whole number from {least} to {most}")
    return int(text)


def bad(place: str, line: int, field: str, value: object, rule: str) -> BadInput:
    """Return the refusal of a value; None is told as not given."""
    shown = "not given" if value is None else repr(value)
    return BadInput(f"{place}: line {line}: {field}: {shown}: {rule}")
