"""B2, B5 and B6: compile the pools of a cluster, filter its nodes for one claim, change one pool."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Final

from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.rules.selectors import compile_selector
from tangram.bench.cluster import Filled, filled, new_engine, small_claim, the_claim
from tangram.bench.copied import renamed
from tangram.bench.report import MS, Report, Row, Unit, times
from tangram.bench.settings import Settings
from tangram.undecided import decided_or_none

_NODES: Final = 5000
_WARM_RUNS: Final = 15
_COMPILED: Final = 100
_COLD_RUNS: Final = 5
_CHANGES: Final = 20


def filtering(settings: Settings) -> Report:
    """Time which nodes of a cluster fit a claim."""
    count = settings.nodes or _NODES
    cluster = filled(settings, count)
    claims, fits = [the_claim()], list[str]()
    compile_selector.cache_clear()

    def ask() -> None:
        fits[:] = cluster.engine.feasible_nodes(claims, cluster.nodes).names

    cold, warm = [_timed(ask)], [_timed(ask) for _ in range(_WARM_RUNS)]
    note = f"{len(fits)} of {count} nodes fit"
    rows = (
        times("cold", cold, 500 * MS, note),
        times("warm", warm, 50 * MS, note),
        times("warm, after each a claim was held", _after_changes(cluster, ask), 50 * MS),
    )
    return Report(name="B2", title=f"filter of {count} nodes, 60 % in use", rows=rows)


def _after_changes(cluster: Filled, ask: Callable[[], None]) -> list[int]:
    """Return the times when one node has changed since the filter before."""
    found = []
    for number, node in enumerate(cluster.nodes[:_WARM_RUNS]):
        answer = decided_or_none(cluster.engine.decide_somewhere([small_claim()], [node, *cluster.nodes]))
        assert answer is not None, "a cluster in use by 60 % has room"
        (results,) = answer.results.values()
        cluster.engine.state.hold(AllocatedClaim(ref=ClaimRef("changes", str(number)), results=results))
        found.append(_timed(ask))
    return found


def compiling(settings: Settings) -> Report:
    """Time how a decoded pool is entered, and weigh what is kept of it."""
    pool = settings.dgx.pool()
    pools = [renamed(pool, f"node-{number}", number) for number in range(_COMPILED)]
    cold, next_ones = [], []
    for _ in range(_COLD_RUNS):
        engine = new_engine(settings)
        cold.append(_timed(engine.state.set_pool, pools[0]))
        next_ones += [_timed(engine.state.set_pool, one) for one in pools[1:]]
    rows = (
        times("first node of its kind", cold, note="makes the template"),
        times("each further node", next_ones, 1 * MS),
        Row(
            case="kept beyond the template",
            unit=Unit.BYTES_PER_DEVICE,
            median=_bytes_per_device(settings),
            samples=_COMPILED,
            must=100,
        ),
    )
    return Report(name="B5", title=f"compile a node of {len(pool.devices)} devices", rows=rows)


def _bytes_per_device(settings: Settings) -> float:
    """Return what a further node adds to an engine. The pools as decoded are dropped."""
    pool, engine = settings.dgx.pool(), new_engine(settings)
    engine.state.set_pool(renamed(pool, "first", _COMPILED))
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(_COMPILED):
        engine.state.set_pool(renamed(pool, f"node-{number}", number))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / _COMPILED / len(pool.devices)


def changing(settings: Settings) -> Report:
    """Time how a new generation of one pool becomes known."""
    count = settings.nodes or _NODES
    cluster, pool = filled(settings, count), settings.dgx.pool()
    claims = [the_claim()]
    cluster.engine.feasible_nodes(claims, cluster.nodes)
    entered, asked = [], []
    for number in range(_CHANGES):
        node = cluster.nodes[number % count]
        changed = renamed(pool, node.name, count + number)
        changed = replace(changed, generation=2 + number, devices=changed.devices[: -1 - number % 8])
        entered.append(_timed(cluster.engine.state.set_pool, changed))
        asked.append(_timed(cluster.engine.feasible_nodes, claims, cluster.nodes))
    rows = (
        times("new generation entered", entered, 5 * MS, "with 1 to 8 devices fewer"),
        times("first filter after it", asked, 50 * MS),
    )
    return Report(name="B6", title=f"one pool of {count} changes", rows=rows)


def _timed(work: Callable[..., object], *arguments: object) -> int:
    started = perf_counter_ns()
    work(*arguments)
    return perf_counter_ns() - started
