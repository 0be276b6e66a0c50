"""The status of a MultiNodePool: how many devices are published, or why none are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller import conditions
from scheduler_core.frontends.multi_node.pool_object import PoolObject

PUBLISHED: Final = "Published"
"""The condition of an object: its slices are stored as its spec says."""


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """What the status of an object is to say.

    Shape: ``devices`` and ``slices`` are those at the server; ``problem`` says why these are not those of
           the spec, None where they are.
    """

    devices: int = 0
    slices: int = 0
    problem: str | None = None


def status_patch(status: PoolStatus, found: PoolObject, now: str) -> Mapping[str, Any] | None:
    """Return the merge patch that writes a status; None where the server has it.

    Shape: ``now`` is a time stamp of the API.
    """
    wanted = conditions.condition(PUBLISHED, ("Published", "NotPublished"), status.problem, found.generation)
    numbers = {
        "observedGeneration": found.generation,
        "devices": status.devices,
        "slices": status.slices,
    }
    is_same = {key: found.status.get(key) for key in numbers} == numbers
    if is_same and conditions.is_stored(wanted, found.status):
        return None
    return {"status": {**numbers, "conditions": [conditions.with_time(wanted, found.status, now)]}}
