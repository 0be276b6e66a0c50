"""The status of a ResourceClass as a value and as the API has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller import conditions

VALID: Final = "Valid"
"""The condition of a class: its selectors can be read."""
ALLOCATABLE: Final = "Allocatable"
"""The condition of a class: a pod may get devices of it."""
_NO_DEVICE: Final = (
    "no device that is published on a present node belongs to the class; kubectl get resourceslices -o yaml "
    "| tangram classes -f - -f CLASS.yaml lists the expressions that no device meets"
)


@dataclass(frozen=True, slots=True)
class ClassStatus:
    """What the status of a class is to say.

    Shape: both numbers are 0 where ``problem`` says why the class cannot be read; ``unserved`` is the reason
           if no pod can get a device of the class, whatever Tangram publishes; ``generation`` is that of the
           object that was counted.
    Units: devices.
    """

    name: str
    generation: int
    allocatable: int = 0
    requested: int = 0
    problem: str | None = None
    unserved: str | None = None


def status_patch(status: ClassStatus, stored: Mapping[str, Any], now: str) -> Mapping[str, Any]:
    """Return the merge patch that writes a status.

    Shape: ``stored`` is the status at the server; ``now`` is a time stamp of the API, which the condition
           gets where its value is new.
    """
    written = [conditions.with_time(one, stored, now) for one in _conditions(status)]
    return {"status": {**_numbers(status), "conditions": written}}


def is_stored(status: ClassStatus, stored: Mapping[str, Any]) -> bool:
    """Whether the server has this status."""
    numbers = _numbers(status)
    is_same = {key: stored.get(key) for key in numbers} == numbers
    return is_same and all(conditions.is_stored(one, stored) for one in _conditions(status))


def _numbers(status: ClassStatus) -> Mapping[str, int]:
    return {
        "observedGeneration": status.generation,
        "allocatable": status.allocatable,
        "requested": status.requested,
    }


def _conditions(status: ClassStatus) -> tuple[Mapping[str, Any], ...]:
    lacking: tuple[str, str | None] = ("", None)
    if status.problem is not None:
        lacking = ("CannotBeRead", "the class cannot be read")
    elif status.allocatable == 0:
        lacking = ("NoDevice", _NO_DEVICE)
        if status.unserved is not None:
            lacking = ("KindNotPublished", status.unserved)
    return (
        conditions.condition(VALID, ("Read", "CannotBeRead"), status.problem, status.generation),
        conditions.condition(ALLOCATABLE, ("DevicesPublished", lacking[0]), lacking[1], status.generation),
    )
