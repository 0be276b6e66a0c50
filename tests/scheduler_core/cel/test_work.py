"""The work of an evaluation is counted: no expression does more than it counts, or takes more memory."""

from __future__ import annotations

import sys
import tracemalloc
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.cel.errors import CompileError, EvaluationError, WorkExceeded
from scheduler_core.cel.evaluate.compiler import compile_tree
from scheduler_core.cel.parse.frontend import check
from scheduler_core.cel.values import Domains
from scheduler_core.cel.work import BOUNDED, MAX_DEPTH, WORK_LIMIT, Work
from scheduler_core.rules.selectors import DeviceView

DEVICE = DeviceView(
    "a.example.com", Domains({"a.example.com": {"name": "x" * 64, "list": [1] * 48}}), name="d"
)
CALLS_PER_UNIT = 2
MOST_MEMORY = 8 << 20

# Each makes a value of the ones before it; $ and # are of these, % is a number.
GROWING = [
    *(
        "[$, #]",
        "[$, #, $]",
        "$ + $",
        "$ + # + $",
        "$.map(i, #)",
        "$.map(i, [i, i])",
        "$.map(i, $)",
        "[$, $].map(i, i + i)",
    ),
    *(
        "$.map(i, {'a': i, 'b': i})",
        "$.transformList(i, v, [dyn(i), v, #])",
        "lists.range(%).map(i, $)",
        "[{'a': $}, {'b': $}]",
    ),
    *("['%s%s'.format([$, #])]", "'%s'.format([$]).split('')", "$.map(i, '%s'.format([i]))"),
]
OTHERS = [
    *(
        "[$].flatten()",
        "dyn($).flatten(9)",
        "$.distinct()",
        "$.reverse()",
        "lists.range(%)",
        "$.slice(0, $.size() / 2)",
    ),
    *(
        "$.filter(i, i != #)",
        "['%s'.format([#]).replace('1', '%s'.format([$]))]",
        "'%s'.format([#]).findAll('[0-9]')",
    ),
    *(
        "[$.exists(i, i == #)]",
        "$.map(i, i in # || # == $)",
        "[optional.of($).orValue(#)]",
        "[$ == #, $ in [#], $ != #]",
    ),
    *("[{'k': $, 'l': #} == {'k': #, 'l': $}]", "$.map(i, '%s'.format([i]).matches('[1-9]{9}'))"),
]
ANSWERS = [
    *(
        "$ == #",
        "$ in [#, $]",
        "sets.contains($, #)",
        "sets.equivalent($, #)",
        "$.indexOf(#) < 0",
        "$.size() > %",
    ),
    *(
        "'%s'.format([$]) == ''",
        "$.all(i, i == #)",
        "$.exists(i, #.exists(j, i == j))",
        "$.isSorted()",
        "$ != #",
    ),
    *("$.map(i, '%s'.format([i])).join(',').matches('(1|2)*3')", "$.map(i, i == # || true).size() == %"),
]


@st.composite
def hostile(draw: st.DrawFn) -> str:
    """Return an expression in which each value is made of the values before it."""
    count = draw(st.integers(4, 20))
    text = _filled(draw, draw(st.sampled_from(ANSWERS)), count)
    for level in range(count, 0, -1):
        made = draw(st.sampled_from(GROWING) | st.sampled_from(OTHERS))
        text = f"cel.bind(v{level}, dyn({_filled(draw, made, level - 1)}), {text})"
    return f"cel.bind(v0, dyn([1, 2]), {text})"


def _filled(draw: st.DrawFn, text: str, last: int) -> str:
    near = st.integers(max(last - 2, 0), last)
    text = text.replace("$", f"v{draw(near)}").replace("#", f"v{draw(near)}").replace("%s", "&")
    return text.replace("%", str(draw(st.sampled_from([0, 3, 50, 1000, 100_000])))).replace("&", "%s")


class Calls:
    """Counts the calls of Python functions, and of functions in C, that an evaluation makes."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        self.count += event in ("call", "c_call")


def evaluated(text: str) -> tuple[int, int]:
    """Return how many calls an evaluation makes, and how much work it counts."""
    program, calls = compile_tree(check(text)), Calls()
    work = Work(program.work or 0)
    sys.setprofile(calls)
    try:
        program.code(DEVICE, [work, *[None] * program.variables])
    except (EvaluationError, WorkExceeded):
        pass
    finally:
        sys.setprofile(None)
    return calls.count, WORK_LIMIT - max(work.left, 0)


@given(hostile())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_expression_makes_no_more_calls_than_it_counts(text):
    try:
        calls, counted = evaluated(text)
    except CompileError:
        return

    assert len(text) <= EXPRESSION_LENGTH
    assert counted <= WORK_LIMIT
    assert calls <= CALLS_PER_UNIT * counted


@given(hostile())
@example("'%s'.format([lists.range(95000)]) == ''")  # a text per element, while the list's text is made
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_expression_takes_no_more_than_a_few_mebibytes(text):
    try:
        program = compile_tree(check(text))
    except CompileError:
        return
    tracemalloc.start()
    try:
        program.code(DEVICE, [Work(program.work or 0), *[None] * program.variables])
    except (EvaluationError, WorkExceeded):
        pass
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert most <= MOST_MEMORY


@pytest.mark.parametrize(
    "do",
    [
        lambda work: work.spend(11),
        lambda work: work.read(11 * 16),
        lambda work: work.write(11),
        lambda work: work.search(64, 11),
        lambda work: work.make(1),
        lambda work: work.copy(6),
    ],
)
def test_no_work_is_done_beyond_the_bound(do):
    work = Work(10)

    with pytest.raises(WorkExceeded, match=f"more than {WORK_LIMIT} units"):
        do(work)
    do(BOUNDED)


def test_work_up_to_the_bound_is_done():
    work = Work(10)

    work.spend(10)

    assert work.left == 0


def test_depth_has_a_bound_of_its_own():
    work = Work()

    work.descend(MAX_DEPTH)
    with pytest.raises(WorkExceeded, match="nested lists or maps"):
        work.descend(MAX_DEPTH + 1)
