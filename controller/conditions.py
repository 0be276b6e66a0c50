"""Conditions in the status of an object, of which we write one. Values in, documents out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TIME: Final = "lastTransitionTime"


def condition(kind: str, reasons: tuple[str, str], problem: str | None, generation: int) -> Mapping[str, Any]:
    """Return a condition without its time.

    Shape: ``problem`` says why it is False, None where it is True; ``reasons`` are those of True and False.
    """
    return {
        "type": kind,
        "status": "True" if problem is None else "False",
        "reason": reasons[problem is not None],
        "message": problem or "",
        "observedGeneration": generation,
    }


def is_stored(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether a status has a condition. Shape: ``stored`` is the status at the server."""
    found = _stored(wanted["type"], stored)
    return {key: value for key, value in found.items() if key != _TIME} == wanted


def with_time(wanted: Mapping[str, Any], stored: Mapping[str, Any], now: str) -> Mapping[str, Any]:
    """Return a condition with the time since which it has its value: ``now`` where the value is new."""
    before = _stored(wanted["type"], stored)
    is_old = before.get("status") == wanted["status"]
    return {**wanted, _TIME: before.get(_TIME, now) if is_old else now}


def _stored(kind: str, stored: Mapping[str, Any]) -> Mapping[str, Any]:
    found = (one for one in stored.get("conditions") or () if one.get("type") == kind)
    return next(found, {})
