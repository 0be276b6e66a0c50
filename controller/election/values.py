"""The values of an election: its times, the Lease as it was read, and when a process may write. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NOBODY: Final = ""
_CLOCKS_APART: Final = 0.98
"""Part of the lease that its holder counts on: the clocks of two machines may run 1 % apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of an election.

    Units:  seconds. ``longest_write_s`` is the longest time from the permission to a write until it has had
            its effect or never will: the time-out of one call. A renewal is tried every ``renew_every_s``.
    Raises: ValueError where a holder could not try to renew twice before it must stop writing.
    """

    lease_s: float = 15.0
    longest_write_s: float = 5.0
    renew_every_s: float = 3.0

    def __post_init__(self) -> None:
        if min(self.lease_s, self.longest_write_s, self.renew_every_s) <= 0:
            raise ValueError(f"times of an election must be above 0, not {self}")
        if self.usable_s < 2 * self.renew_every_s:
            rule = "98 % of the lease less the longest write must leave room for two renewals"
            raise ValueError(f"{rule}, not {self}")

    @property
    def usable_s(self) -> float:
        """Return how long after a renewal was sent a write may still begin."""
        return self.lease_s * _CLOCKS_APART - self.longest_write_s


@dataclass(frozen=True, slots=True)
class Lease:
    """The Lease object as the server has it.

    Shape: ``holder`` is empty where nobody holds it; ``version`` is the server's, another with every write.
    Units: ``lasts_s`` seconds, 0 where nobody has held it yet.
    """

    holder: str
    lasts_s: float
    version: str


@dataclass(frozen=True, slots=True)
class Window:
    """When this process may write. Units: seconds of its own clock."""

    opens_at_s: float
    closes_at_s: float

    def is_open(self, now_s: float) -> bool:
        """Whether a write may begin now."""
        return self.opens_at_s <= now_s < self.closes_at_s


CLOSED: Final = Window(0.0, 0.0)
