"""Reads fields whose types the API server has checked, without trusting it: another type ends here.

A list where a name belongs would be found much later, when something looks the name up. Takes one value;
returns it. Raises: TypeError, which ``controller.reading`` turns into a ``problem`` of the one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def text(value: object) -> str:
    """Return a text; empty for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{_short(value)} is in a place of a text")
    return value


def name(value: object) -> str:
    """Return a text that is not empty."""
    found = text(value)
    if not found:
        raise TypeError("a name is missing")
    return found


def integer(value: object) -> int:
    """Return an integer; 0 for None."""
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{_short(value)} is in a place of an integer")
    return value


def texts(values: Iterable[object] | None) -> tuple[str, ...]:
    """Return a list of texts; empty for None."""
    if isinstance(values, str):
        raise TypeError(f"{_short(values)} is in a place of a list")
    return tuple(map(text, values or ()))


def pairs(values: Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    """Return a map of texts, sorted by key; empty for None."""
    return tuple(sorted((key, text(value)) for key, value in (values or {}).items()))


def _short(value: object) -> str:
    return repr(value)[:40]
