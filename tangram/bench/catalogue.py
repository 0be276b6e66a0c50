"""The benchmarks by name. Each runs in a process of its own, so that its memory can be measured."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.policy.policies import Policy
from tangram.bench.agreement import agreeing
from tangram.bench.cluster_state import following
from tangram.bench.controller.decisions import controlling
from tangram.bench.gangs.grouping import grouping
from tangram.bench.joint import joining
from tangram.bench.looks.looking import looking
from tangram.bench.machine import Dgx
from tangram.bench.many_nodes import changing, compiling, filtering
from tangram.bench.nested import nesting
from tangram.bench.placement.campaign import placing
from tangram.bench.prepare.together import side_by_side
from tangram.bench.prepare.vfs import preparing
from tangram.bench.report import Report
from tangram.bench.reviews.webhook import reviewing
from tangram.bench.searched import searching
from tangram.bench.settings import Settings
from tangram.bench.single import filling, seed_claim, worst_cases
from tangram.bench.stream import streaming
from tangram.errors import BadInput
from tangram.machines import Machines

BENCHMARKS: Final[Mapping[str, Callable[[Settings], Report]]] = {
    "B1": seed_claim,
    "B1b": filling,
    "B2": filtering,
    "B3": worst_cases,
    "B4": streaming,
    "B5": compiling,
    "B6": changing,
    "B7": nesting,
    "B8": joining,
    "B9": placing,
    "B10": agreeing,
    "B11": searching,
    "B12": following,
    "B13": preparing,
    "B14": grouping,
    "B15": controlling,
    "B16": looking,
    "B17": side_by_side,
    "webhook": reviewing,
}
QUICK: Final = ("B1", "B1b", "B3", "B5", "B7", "B10")
ALL: Final = "all"
_KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run. Shape: ``nodes`` and ``count`` None for each benchmark's own size."""

    machines: Machines
    policy: Policy
    nodes: int | None = None
    count: int | None = None


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names to run, in the order of the benchmarks. Shape: unknown names are left out."""
    wanted = set(BENCHMARKS) if ALL in names else set(names or QUICK)
    return tuple(name for name in BENCHMARKS if name in wanted)


def run(name: str, order: Order) -> Report:
    """Run one benchmark in a new process. Raises: BadInput where that was ended, as for want of memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as children:
        try:
            return children.submit(_run, name, order).result()
        except BrokenProcessPool:
            reason = "was ended before it was done: for want of memory, ask for fewer --nodes"
            raise BadInput(f"benchmark {name}: its process {reason}") from None


def _run(name: str, order: Order) -> Report:
    def say(what: str) -> None:
        print(f"{name}: {what}", file=sys.stderr, flush=True)

    settings = Settings(
        dgx=Dgx(order.machines), policy=order.policy, nodes=order.nodes, count=order.count, say=say
    )
    say("started")
    report = BENCHMARKS[name](settings)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    return replace(report, peak_memory_bytes=peak)
