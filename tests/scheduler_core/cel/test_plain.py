"""The reader of plain expressions and the type checker are never of two minds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.cel.cost.estimate import estimate
from scheduler_core.cel.cost.plain import is_plain
from scheduler_core.cel.evaluate.steps import COST_LIMIT
from scheduler_core.cel.parse.decode import decode
from scheduler_core.cel.parse.environment import new_environment
from scheduler_core.cel.parse.plain import plain
from scheduler_core.rules.selectors import compile_selector

ENVIRONMENT = new_environment()
VALUES = [
    *('device.attributes["a.b"].c', "device.attributes['x'].type", "device.driver", "true", "false", "12"),
    *("device.allowMultipleAllocations", '"t"', "'u v'", '""', "007"),
]
STRANGE = [
    *('device.attributes["a"].in', 'device.attributes["a"].for', "3u", "0x1", "-1", "1.5", '"\\n"', "null"),
    *('r"a"', 'b"x"', 'device.attributes["d"]', 'device.attributes["d"].e.f', "device"),
]


def _compounds(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{0} {1} {2}".format, inner, st.sampled_from(["==", "!="]), inner),
        st.builds(str.join, st.sampled_from([" && ", "||", "\n&&"]), st.lists(inner, min_size=2, max_size=7)),
        st.builds("!{0}".format, inner),
        st.builds("({0})".format, inner),
    )


plain_texts = st.recursive(st.sampled_from(VALUES), _compounds, max_leaves=12)
any_texts = st.recursive(st.sampled_from([*VALUES, *STRANGE]), _compounds, max_leaves=6)


@given(st.one_of(plain_texts, any_texts))
@settings(max_examples=500, deadline=None)
def test_what_is_read_plainly_is_what_the_checker_makes_of_it(text):
    read = plain(text)

    assert read is None or repr(read) == repr(decode(ENVIRONMENT.compile(text).serialize()))


@pytest.mark.parametrize(
    "text",
    [
        'device.driver == "gpu.example.com"',
        "device.attributes['a'].b != 3",
        'device.driver == "d" && device.attributes["d"].type == "mig" && device.attributes["d"].n == 1',
        '!device.attributes["d"].broken || (device.attributes["d"].kind == "x" && true)',
        "device.allowMultipleAllocations",
    ],
)
def test_comparisons_joined_by_and_or_and_not_are_plain(text):
    assert plain(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "device",
        "device.driver",
        'device.driver == 3"',
        "device.driver == 3",
        'device.driver == "a" == true &&',
        'device.attributes["a"].in == 1',
        'device.attributes["a"].b.c == 1',
        'device.attributes["a"].b("c")',
        'device.attributes["a\\n"].b == 1',
        'device.driver == "a" // comment',
        'device.driver == """a"""',
        'device.driver < "a"',
        "(((((true)))))",
        "!!true",
        "(true",
        "true)",
        " && ".join(["true"] * 64),
    ],
)
def test_all_other_texts_are_left_to_the_checker(text):
    assert plain(text) is None


@given(plain_texts)
@settings(max_examples=200, deadline=None)
def test_an_expression_that_nobody_counts_cannot_be_expensive(text):
    node = plain(text)

    assert node is None or not is_plain(node) or estimate(node).high <= COST_LIMIT


def test_the_longest_plain_expression_is_far_below_the_limit():
    term = 'device.attributes["a"].b == "'
    texts = [term + "x" * (EXPRESSION_LENGTH - len(term) - 1) + '"', " && ".join(["true"] * 1200)]

    costs = [compile_selector(text).max_cost for text in texts]

    assert max(costs) < COST_LIMIT // 100


def test_a_comparison_of_two_attributes_is_counted():
    node = plain('device.attributes["a"].b == device.attributes["a"].c')

    assert node is not None
    assert not is_plain(node)
