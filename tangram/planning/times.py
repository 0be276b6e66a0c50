"""Times of simulations in words."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def duration(seconds: float) -> str:
    """Return a time in the largest unit of which it has at least two: ``3.5 h``, ``90 s``."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
