"""Taints of devices and the tolerations of requests. Source: KEP-5055."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from scheduler_core.base.quick_dataclass import dataclass


class Effect(StrEnum):
    """The effect of a taint on claims that do not tolerate it."""

    NONE = "None"
    NO_SCHEDULE = "NoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a device."""

    key: str
    value: str = ""
    effect: Effect = Effect.NO_SCHEDULE
    time_added: str | None = None


@dataclass(frozen=True, slots=True)
class Toleration:
    """A taint, or a set of taints, that a request tolerates.

    Shape: ``exists`` with an empty ``key`` tolerates every key; an ``effect`` of None tolerates every effect.
    """

    key: str = ""
    exists: bool = False
    value: str = ""
    effect: Effect | None = None
    seconds: int | None = None

    def covers(self, taint: Taint) -> bool:
        """Whether the taint is tolerated."""
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.exists or (bool(self.key) and self.value == taint.value)


def intolerable(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that keeps the device from a request, None where all are tolerated."""
    accepted = tuple(tolerations)
    for taint in taints:
        if taint.effect is not Effect.NONE and not any(each.covers(taint) for each in accepted):
            return taint
    return None
