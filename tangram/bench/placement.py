"""B9: how many claims are refused under each policy, on the same arrivals and departures.

There are sixteen A100 on one node. Claims for one partition arrive at random (Poisson), stay for a random
time (exponential) and are released. A load of 1 is as much work as the GPUs can hold; the weight of a claim
is the larger of its shares of compute and of memory slices. The first fifth of the arrivals fills the GPUs
and is not counted. The result is the number of refusals.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from statistics import mean
from typing import Final

from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_claim
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT, Policy, best_fit
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.cluster import classes, features
from tangram.bench.inputs import mig_claim
from tangram.bench.machine import GPUS, NODE, Dgx
from tangram.bench.report import Report, Row, Unit
from tangram.bench.settings import Settings
from tangram.undecided import decided_or_none

_MACHINES: Final = 2
_ARRIVALS: Final = 8000
_SEEDS: Final = (1, 2, 3, 4, 5)
_LOADS: Final = (0.7, 0.9, 1.1)
_WEIGHTS: Final[Mapping[str, float]] = {
    "1g.5gb": 1 / 7,
    "1g.10gb": 2 / 8,
    "2g.10gb": 2 / 7,
    "3g.20gb": 4 / 8,
    "4g.20gb": 4 / 7,
    "7g.40gb": 1.0,
}
_MIXES: Final[Mapping[str, Sequence[float]]] = {
    "uniform": (1, 1, 1, 1, 1, 1),
    "small": (5, 2, 3, 1, 0.5, 0.5),
    "mid": (1, 1, 2, 3, 2, 0.5),
    "large": (1, 0.5, 1, 2, 2, 2),
}
_MUST_MEAN: Final = -15.0  # percent, of all mixes and loads together
_MUST_EACH: Final = 0.0  # never worse on any mix


@dataclass(frozen=True, slots=True)
class _Arrival:
    """One claim of a trace. Units: mean times that a claim stays."""

    at: float
    until: float
    profile: int


def placing(settings: Settings) -> Report:
    """Count refusals of best-fit against those of first-fit."""
    pool, count = _pool(settings.dgx), settings.count or _ARRIVALS
    by_mix: dict[str, list[float]] = {}
    for name, mix in _MIXES.items():
        for load in _LOADS:
            settings.say(f"mix {name}, load {load}")
            traces = [list(_trace(mix, load, count, seed)) for seed in _SEEDS]
            first = sum(_refusals(trace, pool, FIRST_FIT) for trace in traces)
            best = sum(_refusals(trace, pool, best_fit()) for trace in traces)
            by_mix.setdefault(name, []).append(100 * (best - first) / max(first, 1))
    everything = [change for changes in by_mix.values() for change in changes]
    rows = [_row("all mixes and loads", everything, _MUST_MEAN)]
    rows += [_row(f"mix {name}", changes, _MUST_EACH) for name, changes in by_mix.items()]
    title = f"refusals under best-fit against first-fit, {count} arrivals, {len(_SEEDS)} seeds"
    return Report(name="B9", title=title, rows=tuple(rows))


def _row(case: str, changes: Sequence[float], must: float) -> Row:
    loads = ", ".join(f"{change:+.0f}" for change in changes)
    note = f"by load {loads}" if len(changes) == len(_LOADS) else ""
    return Row(case=case, unit=Unit.PERCENT, median=mean(changes), samples=len(changes), must=must, note=note)


def _trace(mix: Sequence[float], load: float, count: int, seed: int) -> Iterator[_Arrival]:
    chance = Random(seed)
    weights = tuple(_WEIGHTS.values())
    weight = sum(share * one for share, one in zip(mix, weights, strict=True)) / sum(mix)
    rate, steps, now = load * GPUS * _MACHINES / weight, tuple(accumulate(mix)), 0.0
    for _ in range(count):
        now += chance.expovariate(rate)
        (profile,) = chance.choices(range(len(weights)), cum_weights=steps)
        yield _Arrival(now, now + chance.expovariate(1), profile)


def _refusals(trace: Sequence[_Arrival], pool: Pool, policy: Policy) -> int:
    """Return how many claims were refused after the first fifth."""
    engine, node = Engine(ClusterState(classes(), features()), policy), Node(NODE)
    engine.state.set_pool(pool)
    kinds = [decode_claim(mig_claim("kind", [profile])) for profile in _WEIGHTS]
    leaving: list[tuple[float, int]] = []
    refused = 0
    for number, arrival in enumerate(trace):
        while leaving and leaving[0][0] <= arrival.at:
            engine.state.release(_ref(heapq.heappop(leaving)[1]))
        kind = kinds[arrival.profile]
        answer = decided_or_none(engine.decide([kind], node))
        if answer is not None:
            engine.state.hold(AllocatedClaim(ref=_ref(number), results=answer.results[kind.ref]))
            heapq.heappush(leaving, (arrival.until, number))
        elif number >= len(trace) // 5:
            refused += 1
    return refused


def _ref(number: int) -> ClaimRef:
    return ClaimRef("trace", str(number))


def _pool(dgx: Dgx) -> Pool:
    (pool,) = v1.pools(v1.decode_slice(one) for one in dgx.slices(_MACHINES))
    return pool
