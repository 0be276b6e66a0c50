"""The status of a ResourceClass as a value and as the API has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller import conditions

VALID: Final = "Valid"
"""The condition of a class: its selectors can be read."""


@dataclass(frozen=True, slots=True)
class ClassStatus:
    """What the status of a class is to say.

    Shape: both numbers are 0 where ``problem`` says why the class cannot be read; ``generation`` is that of
           the object that was counted.
    Units: devices.
    """

    name: str
    generation: int
    allocatable: int = 0
    requested: int = 0
    problem: str | None = None


def status_patch(status: ClassStatus, stored: Mapping[str, Any], now: str) -> Mapping[str, Any]:
    """Return the merge patch that writes a status.

    Shape: ``stored`` is the status at the server; ``now`` is a time stamp of the API, which the condition
           gets where its value is new.
    """
    condition = conditions.with_time(_condition(status), stored, now)
    return {"status": {**_numbers(status), "conditions": [condition]}}


def is_stored(status: ClassStatus, stored: Mapping[str, Any]) -> bool:
    """Whether the server has this status."""
    numbers = _numbers(status)
    is_same = {key: stored.get(key) for key in numbers} == numbers
    return is_same and conditions.is_stored(_condition(status), stored)


def _numbers(status: ClassStatus) -> Mapping[str, int]:
    return {
        "observedGeneration": status.generation,
        "allocatable": status.allocatable,
        "requested": status.requested,
    }


def _condition(status: ClassStatus) -> Mapping[str, Any]:
    return conditions.condition(VALID, ("Read", "CannotBeRead"), status.problem, status.generation)
