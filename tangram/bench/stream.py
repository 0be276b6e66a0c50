"""B4: claims are added and removed, one after the other, on a cluster that is partly in use."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from time import perf_counter_ns
from typing import Final

from scheduler_core.codec.claims import decode_claim
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef
from tangram.bench.cluster import filled, memory_slices
from tangram.bench.inputs import mig_claim
from tangram.bench.report import MS, Report, Row, Unit, percentile, times
from tangram.bench.settings import Settings
from tangram.undecided import decided_or_none

_NODES: Final = 1000
_CLAIMS: Final = 100_000
_SEED: Final = 4
_PROFILES: Final = ("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")


def streaming(settings: Settings) -> Report:
    """Time each claim: a place found in the whole cluster and held, and what must go released."""
    nodes, count = settings.nodes or _NODES, settings.count or _CLAIMS
    stream = _Stream(settings, nodes)
    spent = []
    for number in range(count):
        spent.append(stream.next(number))
        if number % 10_000 == 0:
            settings.say(f"claim {number} of {count}")
    rate = Row(
        case="throughput",
        unit=Unit.CLAIMS_PER_SECOND,
        median=count / (sum(spent) / 1e9),
        samples=count,
        must=5000,
        note=f"{stream.refused} refused",
    )
    slowest = times("per claim, p99", [percentile(spent, 99)], 5 * MS)
    title = f"{count} claims with release, {nodes} nodes"
    return Report(name="B4", title=title, rows=(rate, times("per claim", spent), slowest))


class _Stream:
    """A cluster that stays as full as it is: for what comes, as much goes."""

    def __init__(self, settings: Settings, nodes: int) -> None:
        pool, cluster = settings.dgx.pool(), filled(settings, nodes)
        self._sizes = {device.name: memory_slices(device) for device in pool.devices}
        self._engine, self._held = cluster.engine, list(cluster.held)
        self._free = 0  # memory slices that more went than came
        self._chance = Random(_SEED)
        self._kinds = [decode_claim(mig_claim("kind", [profile])) for profile in _PROFILES]
        self.refused = 0

    def next(self, number: int) -> int:
        """Add one claim, after removing as many as it needs to fit. Units: nanoseconds."""
        claim = _named(self._chance.choice(self._kinds), number)
        started = perf_counter_ns()
        answer = decided_or_none(self._engine.decide_somewhere([claim]))
        if answer is None:
            self.refused += 1
            return perf_counter_ns() - started
        held = AllocatedClaim(ref=claim.ref, results=answer.results[claim.ref])
        self._engine.state.hold(held)
        took = perf_counter_ns() - started
        self._free -= self._size(held)
        leaving = []
        while self._free < 0:
            leaving.append(self._taken())
            self._free += self._size(leaving[-1])
        self._held.append(held)
        started = perf_counter_ns()
        for one in leaving:
            self._engine.state.release(one.ref)
        return took + perf_counter_ns() - started

    def _taken(self) -> AllocatedClaim:
        """Return a claim that is to go, out of all that hold."""
        index = self._chance.randrange(len(self._held))
        self._held[index], self._held[-1] = self._held[-1], self._held[index]
        return self._held.pop()

    def _size(self, claim: AllocatedClaim) -> int:
        return sum(self._sizes[result.device.device] for result in claim.results)


def _named(kind: Claim, number: int) -> Claim:
    """Return a claim of its own, as another pod's would be: equal in all but the name."""
    requests = tuple(replace(request) for request in kind.requests)
    return replace(kind, ref=ClaimRef("stream", str(number)), requests=requests)
