"""What a simulation counts: who waited how long, who gave up, and the use of the GPUs over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.occupancy.meter import GpuMeter
from scheduler_core.model.result import Allocation
from scheduler_core.planning.simulation import Arrival

SAMPLES: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One moment.

    Shape: ``in_use`` and ``fragmentation`` from 0 to 1; ``waiting`` and ``running`` arrivals.
    Units: ``at`` seconds since the first arrival.
    """

    at: float
    in_use: float
    fragmentation: float
    waiting: int
    running: int


@dataclass(slots=True)
class Course:
    """Watches one simulation from the first arrival to the last.

    Shape: ``waits`` of the arrivals that got devices; ``refused`` those that gave up; ``late`` how many got
           devices after they had waited; ``refused_by_ask`` by the number of the ask; the means are over
           time; ``tell`` is told a hundred times how many arrivals have come.
    Units: seconds.
    """

    arrivals: Sequence[Arrival]
    meter: GpuMeter
    tell: Callable[[int], None]
    samples: list[Sample] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    refused_by_ask: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    _now: float = 0.0
    _in_use_s: float = 0.0
    _fragmented_s: float = 0.0
    _arrived: int = 0
    _running: int = 0

    @property
    def end(self) -> float:
        """Return the time of the last arrival."""
        return self.arrivals[-1].at

    @property
    def in_use(self) -> float:
        """Return the mean part of the GPUs that was in use."""
        return self._in_use_s / self._now if self._now else self._levels()[0]

    @property
    def fragmentation(self) -> float:
        """Return the mean fragmentation."""
        return self._fragmented_s / self._now if self._now else self._levels()[1]

    @property
    def late(self) -> int:
        """Return how many got devices after they had waited."""
        return sum(one > 0 for one in self.waits)

    def passes(self, until: float) -> None:
        """Count a stretch in which nothing changed."""
        upto = min(until, self.end)
        if upto <= self._now:
            return
        in_use, fragmentation = self._levels()
        while len(self.samples) < SAMPLES and self._next_sample() < upto:
            self._sample(in_use, fragmentation)
        self._in_use_s += in_use * (upto - self._now)
        self._fragmented_s += fragmentation * (upto - self._now)
        self._now = upto

    def arrives(self, number: int) -> None:  # noqa: ARG002 - the simulation says which
        """Count an arrival."""
        self._arrived += 1
        if self._arrived % max(1, len(self.arrivals) // 100) == 0:
            self.tell(self._arrived)

    def placed(self, number: int, allocation: Allocation, waited: float) -> None:  # noqa: ARG002
        """Count an arrival that got devices."""
        self.waits.append(waited)
        self._running += 1

    def refuses(self, number: int) -> None:
        """Count an arrival that gave up."""
        self.refused += 1
        self.refused_by_ask[self.arrivals[number].ask] += 1

    def left(self, number: int) -> None:  # noqa: ARG002
        """Count an arrival that gave its devices back."""
        self._running -= 1

    def _next_sample(self) -> float:
        return self.end * len(self.samples) / SAMPLES

    def _sample(self, in_use: float, fragmentation: float) -> None:
        waiting = self._arrived - len(self.waits) - self.refused
        self.samples.append(
            Sample(
                at=self._next_sample(),
                in_use=in_use,
                fragmentation=fragmentation,
                waiting=waiting,
                running=self._running,
            )
        )

    def _levels(self) -> tuple[float, float]:
        found = self.meter.read()
        return (found.in_use / found.gpus if found.gpus else 0.0), found.room.fragmentation
