"""Google's own evaluator, in C++, must agree on whatever both know: expressions are made at random."""

from __future__ import annotations

import pytest
from cel_expr_python import cel
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.errors import SelectorError
from scheduler_core.rules.selectors import DeviceView, Selector

ENVIRONMENT = cel.NewEnv()
NOTHING = DeviceView(driver="")
SMALL = st.integers(-3, 3)

numbers = st.one_of(SMALL, st.sampled_from([9223372036854775807, -9223372036854775807])).map(str)
texts = st.text("ab.", max_size=3).map(lambda text: f'"{text}"')
bools = st.sampled_from(["true", "false"])


def _joined(
    symbols: str, left: st.SearchStrategy[str], right: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    return st.builds("({1} {0} {2})".format, st.sampled_from(symbols.split()), left, right)


def _lists(elements: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(elements, min_size=1, max_size=3).map(lambda parts: f"[{', '.join(parts)}]")


whole = st.recursive(
    numbers,
    lambda inner: st.one_of(
        _joined("+ - * / %", inner, inner),
        st.builds("size({0})".format, texts),
        st.builds("{0}[{1}]".format, _lists(inner), SMALL),
    ),
    max_leaves=5,
)


def _conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _joined("&& ||", inner, inner),
        st.builds("!{0}".format, inner),
        st.builds("({0} ? {1} : {2})".format, inner, inner, inner),
        st.builds(
            "{0}.{1}(x, (x {2} {3}) || {4})".format,
            _lists(whole),
            st.sampled_from(["all", "exists", "exists_one"]),
            st.sampled_from(["==", "<", ">="]),
            whole,
            inner,
        ),
    )


conditions = st.recursive(
    st.one_of(
        bools,
        _joined("== != < <= > >=", whole, whole),
        _joined("== != < <= > >=", texts, texts),
        _joined("in", whole, _lists(whole)),
        st.builds(
            "{0}.{1}({2})".format, texts, st.sampled_from(["startsWith", "endsWith", "contains"]), texts
        ),
        st.builds("([{0}, {1}].map(y, y * 2) == [{2}, {3}])".format, whole, whole, whole, whole),
        st.builds("(dyn({0}) == dyn({1}))".format, whole, texts),
        st.builds("(has({{'a': {0}}}.{1}))".format, whole, st.sampled_from("ab")),
    ),
    _conditions,
    max_leaves=6,
)


def theirs(text: str) -> bool | str:
    try:
        value = ENVIRONMENT.compile(text).eval(data={}).value()
    except RuntimeError:
        return "error"
    return value if isinstance(value, bool) else "error"


def ours(text: str) -> bool | str:
    try:
        return Selector(text).matches(NOTHING)
    except SelectorError:
        return "error"


@given(conditions)
@settings(max_examples=200, deadline=None)
def test_both_evaluators_give_one_answer(text):
    assert ours(text) == theirs(text), text


@pytest.mark.parametrize("text", ["1 / 0 == 1", "[1][3] == 1", "9223372036854775807 + 1 == 0"])
def test_both_evaluators_know_the_errors(text):
    assert ours(text) == theirs(text) == "error"
