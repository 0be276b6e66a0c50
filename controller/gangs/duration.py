"""Reads a duration as Go writes it, such as ``1h30m`` or ``100s``. Source: Go, time.ParseDuration."""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


def seconds(text: str) -> float | None:
    """Return a positive duration, None where the text is none. Units: seconds."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    found = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return found if found > 0 else None
