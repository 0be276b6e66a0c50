"""B1, B1b and B3: one node, with the claims on which upstream's allocator is timed too.

Cold is measured several times, each on a new engine without compiled selectors. Warm is the same engine asked
again: with the same claim objects, and with equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter_ns
from typing import Final

from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import ClaimRef
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.answer import Answer, answer
from tangram.bench.inputs import benchmark, names
from tangram.bench.machine import Dgx
from tangram.bench.question import Question, decode_question
from tangram.bench.report import MS, US, Report, Row, times
from tangram.bench.settings import Settings

_COLD_RUNS: Final = 25
_EQUAL_CLAIMS: Final = 2000
_WORST_LIMIT_S: Final = 5.0  # what has not ended then misses its bound by far
# The inputs say what is right by how they are made: these cannot be satisfied.
_UNSATISFIABLE: Final = ("B3-B", "B3-C", "B3-E", "B3-G", "B3-H", "B3-I", "B3-J")


def seed_claim(settings: Settings) -> Report:
    """Time the claim of KEP-4815 on an empty node."""
    question = _question("B1", settings.dgx)
    rows = (
        _cold("cold", question, 5 * MS),
        times("warm, same claim", answer(question, settings.policy).nanoseconds, 20 * US),
        times("warm, equal claims", list(_equal_claims(question, settings)), 20 * US),
    )
    return Report(name="B1", title="KEP-4815's claim on an empty DGX A100", rows=rows)


def filling(settings: Settings) -> Report:
    """Time the claims that fill a node, one by one."""
    question = _question("B1b", settings.dgx)
    found = answer(replace(question, repeat=_COLD_RUNS), settings.policy)
    rows = (
        _cold("cold, first claim", question, None),
        times("warm, per claim", found.nanoseconds, 30 * US),
    )
    wrong = ("not every partition was found",) if found.unschedulable else ()
    return Report(name="B1b", title="filling it with 56 × 1g.5gb", rows=rows, wrong=wrong)


def worst_cases(settings: Settings) -> Report:
    """Time what a depth-first search is worst at."""
    rows: list[Row] = []
    wrong: list[str] = []
    for name in (one for one in names() if one.startswith("B3-")):
        settings.say(name)
        question = _question(name, settings.dgx)
        found = answer(question, settings.policy, _WORST_LIMIT_S)
        case = name.removeprefix("B3-")
        note = "cut off" if found.timed_out else ""
        rows.append(times(f"{case} cold", [found.cold_nanoseconds], note=note))
        rows.append(times(f"{case} warm", found.nanoseconds, 10 * MS, note))
        wrong += _wrong(name, found)
    return Report(name="B3", title="worst cases of a search", rows=tuple(rows), wrong=tuple(wrong))


def _wrong(name: str, found: Answer) -> Iterator[str]:
    """Yield what is wrong with an answer; to be late is no answer and not wrong."""
    if found.error:
        yield f"{name}: {found.error}"
    elif not found.timed_out and found.unschedulable != (name.partition("x")[0] in _UNSATISFIABLE):
        yield f"{name}: {'refused' if found.unschedulable else 'allocated'}"


def _question(name: str, dgx: Dgx) -> Question:
    return decode_question(benchmark(name, dgx), name)


def _cold(case: str, question: Question, must_ns: int | None) -> Row:
    once = replace(question, repeat=1)
    return times(case, [answer(once).cold_nanoseconds for _ in range(_COLD_RUNS)], must_ns)


def _equal_claims(question: Question, settings: Settings) -> Iterator[int]:
    """Yield the times for claims that differ in their names alone, as those of one Deployment do."""
    engine = Engine(ClusterState(question.classes, question.features), settings.policy)
    for pool in question.pools:
        engine.state.set_pool(pool)
    ((claim,),), (node,) = question.batches, question.nodes
    engine.allocate([claim], node)
    for number in range(_EQUAL_CLAIMS):
        requests = tuple(replace(request) for request in claim.requests)
        equal = replace(claim, ref=ClaimRef("default", f"claim-{number}"), requests=requests)
        started = perf_counter_ns()
        engine.allocate([equal], node)
        yield perf_counter_ns() - started
