"""Traces: the arrivals and departures of claims of one mix, drawn from a seed.

A load of 1 is as much work as the GPUs can hold, by the weights of the claims and the times that they stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

from scheduler_core.planning.simulation import Arrival
from tangram.bench.placement.mixes import Mix


def trace(mix: Mix, load: float, gpus: int, count: int, seed: int) -> Iterator[Arrival]:
    """Yield ``count`` arrivals, the first one first; each asks for the kind with its number.

    Units: mean times that a claim stays.
    """
    chance, now = Random(seed), 0.0
    kind = left = 0
    for number in range(count):
        if left > 0:
            left -= 1
        else:
            shares = _shares(mix, number / count)
            pairs = zip(shares, mix.kinds, strict=True)
            weight = sum(one * kind.weight * mix.stretch(kind) for one, kind in pairs) / sum(shares)
            now += chance.expovariate(load * gpus / weight / mix.batch)
            (kind,) = chance.choices(range(len(shares)), cum_weights=tuple(accumulate(shares)))
            left = _further(mix, chance)
        yield Arrival(now, mix.stay(chance) * mix.stretch(mix.kinds[kind]), kind)


def _shares(mix: Mix, progress: float) -> Sequence[float]:
    if mix.later is None:
        return mix.shares
    pairs = zip(mix.shares, mix.later, strict=True)
    return [first * (1 - progress) + last * progress for first, last in pairs]


def _further(mix: Mix, chance: Random) -> int:
    """Return how many equal claims come at the same time."""
    return int(chance.expovariate(1 / (mix.batch - 0.5))) if mix.batch > 1 else 0
