"""B10: random small questions, answered by the engine and by the plain search, and compared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf
from time import perf_counter_ns
from typing import Final

from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.question import Question, decode_question
from tangram.bench.random_questions import FAMILIES, random_question
from tangram.bench.report import Report, Row, Unit, times
from tangram.bench.settings import Settings
from tangram.undecided import decided

_COUNT: Final = 2000
_SEED: Final = 10
_SHOWN: Final = 10


def agreeing(settings: Settings) -> Report:
    """Compare both on each question, under the policy asked for."""
    count = settings.count or _COUNT
    wrong: list[str] = []
    fast, plain = [], []
    for number, (name, question) in enumerate(islice(_questions(), count)):
        if number % 1000 == 0:
            settings.say(f"instance {number} of {count}")
        started = perf_counter_ns()
        ours = _engines(question, settings)
        fast.append(perf_counter_ns() - started)
        started = perf_counter_ns()
        theirs = _plain(question)
        plain.append(perf_counter_ns() - started)
        if not _agree(ours, theirs, exactly=settings.policy == FIRST_FIT):
            wrong.append(f"{name}: the engine says {_told(ours)}, the plain search {_told(theirs)}")
    disagreements = Row(
        case=f"{count} instances", unit=Unit.DISAGREEMENTS, median=len(wrong), samples=count, must=0
    )
    rows = (disagreements, times("engine, new each time", fast), times("plain search", plain))
    return Report(name="B10", title="engine against plain search", rows=rows, wrong=tuple(wrong[:_SHOWN]))


Outcome = Allocation | Unallocatable | CoreError


def _questions() -> Iterator[tuple[str, Question]]:
    number = 0
    while True:
        for family in FAMILIES:
            asked = random_question(family, _SEED, number)
            yield asked["name"], decode_question(asked, asked["name"])
        number += 1


def _engines(question: Question, settings: Settings) -> Outcome:
    engine = Engine(ClusterState(question.classes, question.features), settings.policy)
    for pool in question.pools:
        engine.state.set_pool(pool)
    engine.state.hold(question.held)
    try:
        return decided(engine.allocate(question.batches[0], question.nodes[0]))
    except CoreError as error:
        return error


def _plain(question: Question) -> Outcome:
    cluster = Cluster(
        pools=question.pools,
        classes=question.classes,
        allocated=(question.held,),
        features=question.features,
    )
    try:
        return decided(allocate(question.batches[0], cluster, question.nodes[0], most=inf))
    except CoreError as error:
        return error


def _agree(ours: Outcome, theirs: Outcome, *, exactly: bool) -> bool:
    """Whether the answers are the same; under another policy, whether both have one."""
    if isinstance(ours, CoreError) or isinstance(theirs, CoreError):
        return (type(ours), str(ours)) == (type(theirs), str(theirs))
    if exactly:
        return ours == theirs
    return isinstance(ours, Allocation) == isinstance(theirs, Allocation)


def _told(outcome: Outcome) -> str:
    match outcome:
        case Allocation():
            chosen = (one.device.device for results in outcome.results.values() for one in results)
            return f"[{', '.join(chosen)}]"
        case Unallocatable():
            return f"nothing ({outcome.cause})"
        case CoreError():
            return f"error ({outcome})"
