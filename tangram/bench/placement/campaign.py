"""B9: what best-fit refuses, beside first-fit, on the same arrivals and departures.

Claims arrive at random on a fleet of equal nodes and are released after a while. The first fifth of the
arrivals fills the nodes and is not counted. First-fit takes nodes by name, or in another order at each claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.policy.policies import FIRST_FIT, Policy, best_fit
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from tangram.bench.placement.fleet import Fleet, Outcome, Run, fleet, shuffled
from tangram.bench.placement.mixes import B9_MIXES, MIXES, Mix
from tangram.bench.placement.traces import trace
from tangram.bench.report import Report, Row, Unit
from tangram.bench.settings import Settings

LOADS: Final = (0.7, 0.9, 1.1)
SEEDS: Final = (1, 2, 3, 4, 5)
_NODES: Final = 10
_ARRIVALS: Final = 2000
_TRIAL: Final = 100  # fewer arrivals are a trial of the command: one seed will do
_ONE_NODE: Final = 2  # machines in the one node of the mixes of partitions
_MUST_MEAN: Final = -15.0  # percent of refused memory slices, in the mean of all mixes
_MUST_EACH: Final = 2.0  # of each mix
_MUST_ONE_NODE: Final = -21.0  # percent of refused claims


@dataclass(frozen=True, slots=True)
class Side:
    """One way to allocate. Shape: ``order`` makes the order of nodes from a seed, None for any node."""

    policy: Policy
    order: Callable[[int], Callable[[Sequence[Node]], Sequence[Node]]] | None = None


FIRST: Final = Side(FIRST_FIT)
BEST: Final = Side(best_fit())
SHUFFLED: Final = Side(FIRST_FIT, shuffled)


def placing(settings: Settings) -> Report:
    """Count what each policy refuses, mix by mix."""
    nodes, count = settings.nodes or _NODES, settings.count or _ARRIVALS
    seeds = SEEDS if count >= _TRIAL else SEEDS[:1]
    rows, changes = [], []
    for name, mix in MIXES.items():
        settings.say(f"mix {name}")
        machine = settings.dgx.pool(machine=mix.machine)
        row = _compared(name, mix, fleet(machine, nodes, is_shared=mix.is_shared), count, seeds)
        changes.append(row.median)
        rows.append(row)
    head = _row("refused slices, mean of all mixes", changes, _MUST_MEAN)
    one_node = _on_one_node(settings, settings.dgx.pool(_ONE_NODE), 4 * count, seeds)
    title = f"refused under best-fit against first-fit, {nodes} nodes, {count} arrivals, {len(seeds)} seeds"
    return Report(name="B9", title=title, rows=(head, *rows, one_node))


def outcomes(
    mix: Mix, load: float, on: Fleet, count: int, side: Side, *, seeds: Sequence[int] = SEEDS
) -> Outcome:
    """Return what became of the traces of several seeds."""
    found = []
    for seed in seeds:
        order = None if side.order is None else side.order(seed)
        run = Run(mix, on, side.policy, order, alternatives_apart=side is not BEST)
        found.append(run.outcome(list(trace(mix, load, on.gpus, count, seed))))
    return Outcome.added(found)


def _compared(name: str, mix: Mix, on: Fleet, count: int, seeds: Sequence[int]) -> Row:
    first, best, other = (
        [outcomes(mix, load, on, count, side, seeds=seeds) for load in LOADS]
        for side in (FIRST, BEST, SHUFFLED)
    )
    loads = ", ".join(f"{_change(a, b):+.0f}" for a, b in zip(first, best, strict=True))
    sums = [Outcome.added(side) for side in (best, first, other)]
    refused = _each(sums, lambda one: f"{one.refused_slices}")
    used = _each(sums, lambda one: f"{100 * one.utilisation:.1f}")
    whole = _each(sums, lambda one: f"{100 * one.whole_nodes:.1f}")
    sides = (
        f"best-fit/first-fit/shuffled: refused slices {refused}; {used} % in use; {whole} % of nodes unused"
    )
    note = f"by load {loads}; {sides}{_preferences(name, sums)}"
    return _row(f"refused slices, {name}", [_change(sums[1], sums[0])], _MUST_EACH, note)


def _on_one_node(settings: Settings, pool: Pool, count: int, seeds: Sequence[int]) -> Row:
    """Compare on one node: there only the choice of devices counts."""
    settings.say("one node")
    on, changes = fleet(pool, 1, is_shared=False), []
    for mix in B9_MIXES.values():
        for load in LOADS:
            first, best = (
                outcomes(mix, load, on, count, side, seeds=seeds).refused for side in (FIRST, BEST)
            )
            changes.append(100 * (best - first) / max(first, 1))
    return _row("refused claims, one node of 16 GPUs, mixes of partitions", changes, _MUST_ONE_NODE)


def _change(first: Outcome, best: Outcome) -> float:
    return 100 * (best.refused_slices - first.refused_slices) / max(first.refused_slices, 1)


def _preferences(name: str, sums: Sequence[Outcome]) -> str:
    """Return how many claims got the alternative that they prefer, where a mix has alternatives."""
    return (
        f"; preferred given {_each(sums, lambda one: f'{one.preferred}')}" if name == "firstAvailable" else ""
    )


def _each(outcomes: Sequence[Outcome], figure: Callable[[Outcome], str]) -> str:
    return "/".join(map(figure, outcomes))


def _row(case: str, changes: Sequence[float], must: float, note: str = "") -> Row:
    return Row(case=case, unit=Unit.PERCENT, median=mean(changes), samples=len(changes), must=must, note=note)
