"""What comes and goes, and in which order: pure, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chaos.documents import Drawn, Objects
from chaos.pods import NEVER_RUNS, objects

FOR_EVER_S: Final = 100_000.0
_ENDS_BY_ITSELF = 0.3
_HALF_GOES = 0.25
_LASTS_S = (2.0, 20.0)
_PICKS: Final = 2**32
_MOST_MISFITS = 2  # they never end by themselves, and would fill the stream


@dataclass(frozen=True, slots=True)
class Arrival:
    """Pods of one kind with what they need."""

    name: str
    kind: str
    objects: Objects

    @property
    def pods(self) -> tuple[str, ...]:
        """Return the names of its pods."""
        return tuple(str(one["metadata"]["name"]) for one in self.objects.pods)

    @property
    def claims(self) -> tuple[str, ...]:
        """Return the names of the claims that are created together with its pods."""
        return tuple(str(one["metadata"]["name"]) for one in self.objects.claims)


@dataclass(frozen=True, slots=True)
class Come:
    """Create an arrival."""

    arrival: Arrival


@dataclass(frozen=True, slots=True)
class Go:
    """Delete an arrival, or the first of its two pods where ``is_half``."""

    arrival: Arrival
    is_half: bool = False


class Stream:
    """An endless stream of arrivals and departures.

    Shape: at most ``most`` arrivals are there at once; ``has_controller`` whether Tangram's controller
           allocates their devices.
    """

    def __init__(self, seed: int, kinds: Sequence[str], most: int, *, has_controller: bool = True) -> None:
        self._random = random.Random(seed)
        self._kinds, self._most, self._has_controller = tuple(kinds), most, has_controller
        self._there: list[Arrival] = []
        self._count = 0

    @property
    def there(self) -> tuple[Arrival, ...]:
        """Return the arrivals that have come and not gone."""
        return tuple(self._there)

    def next(self) -> Come | Go:
        """Return the next event."""
        fullness = len(self._there) / self._most
        if self._random.random() >= fullness:
            return self._come()
        return self._go()

    def _come(self) -> Come:
        misfits = sum(one.kind in NEVER_RUNS for one in self._there)
        kinds = [one for one in self._kinds if misfits < _MOST_MISFITS or one not in NEVER_RUNS]
        self._count += 1
        ends = self._random.random() < _ENDS_BY_ITSELF
        kind = self._random.choice(kinds or self._kinds)
        drawn = Drawn(
            name=f"{kind}-{self._count}",
            is_gated=self._random.random() < 0.5,
            lasts_s=self._random.uniform(*_LASTS_S) if ends else FOR_EVER_S,
            grace_s=self._random.choice((0, 1)),
            has_controller=self._has_controller,
            pick=self._random.randrange(_PICKS),
        )
        self._there.append(Arrival(drawn.name, kind, objects(kind, drawn)))
        return Come(self._there[-1])

    def _go(self) -> Go:
        number = self._random.randrange(len(self._there))
        chosen = self._there[number]
        if len(chosen.pods) > 1 and self._random.random() < _HALF_GOES:
            return Go(chosen, is_half=True)
        del self._there[number]
        return Go(chosen)


def one_of_each(kinds: Sequence[str], prefix: str, *, has_controller: bool = True) -> Iterator[Arrival]:
    """Yield one arrival of each kind that can run, all of which fit on the machine together."""
    for kind in kinds:
        if kind not in NEVER_RUNS:
            drawn = Drawn(
                name=f"{prefix}-{kind}",
                is_gated=True,
                lasts_s=FOR_EVER_S,
                grace_s=0,
                has_controller=has_controller,
            )
            yield Arrival(drawn.name, kind, objects(kind, drawn))
