"""Expressions that are made to take long end in an error, by count and not by clock."""

from __future__ import annotations

import pytest

from scheduler_core.base.errors import SelectorError
from scheduler_core.rules.selectors import compile_selector

TEN = "[1,2,3,4,5,6,7,8,9,10]"


def nested(depth: int, body: str) -> str:
    """Return ``depth`` loops over ten elements around a body."""
    for level in range(depth):
        body = f"{TEN}.all(x{level}, {body})"
    return body


def doubled(start: str, times: int) -> str:
    """Return a chain of bindings, each eight times as long as the one before."""
    body = f"v{times}.size() > 0"
    for level in range(times, 0, -1):
        previous = f"v{level - 1}"
        body = f"cel.bind(v{level}, {' + '.join([previous] * 8)}, {body})"
    return f"cel.bind(v0, {start}, {body})"


@pytest.mark.parametrize(
    "body",
    [
        "true",
        "x0 < x1 + 100",
        '"%s %s".format([x0, x1]) != ""',
        'url("https://a.example/?b=" + string(x0)).getScheme() == "https"',
        'device.attributes["gpu.example.com"].nope == "x" || true',
        f"{TEN}.map(y, y * 2).size() == 10",
    ],
)
def test_loops_inside_loops_run_out_of_budget(body, gpu):
    selector = compile_selector(nested(7, body))

    with pytest.raises(SelectorError, match="actual cost limit exceeded"):
        selector.matches(gpu)


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(1000000).all(x, x >= 0)",
        "lists.range(1000000).reverse().sort()[0] == 0",
        "lists.range(100000).map(x, [x]).distinct().size() == 3",
        "lists.range(1000).all(x, sets.contains(lists.range(1000), [x]))",
        doubled("'aaaaaaaaaaaaaaaa'", 8),
        doubled("[1, 2, 3, 4, 5, 6, 7, 8]", 8),
        "device.driver" + '.replace("e", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee")' * 20 + ".size() > 1",
        "lists.range(100000).map(x, 'aaaaaaaaaaaaaaaaaaaa').join('bbbbbbbbbbbb').size() > 0",
        "device.driver.matches('(x{100}){100}') || lists.range(999999999).size() == 0",
    ],
)
def test_values_that_grow_without_end_are_refused(text, gpu):
    with pytest.raises(SelectorError):
        compile_selector(text).matches(gpu)


def test_an_expression_below_the_limit_is_evaluated_to_its_end(gpu):
    selector = compile_selector(nested(4, "x0 + x1 + x2 + x3 > 3"))

    assert selector.max_cost <= 1_000_000
    assert selector.matches(gpu)


def test_a_high_estimate_alone_refuses_nothing(gpu):
    selector = compile_selector('["a", "b"].join("-") == "a-b"')

    assert selector.max_cost > 1_000_000
    assert selector.matches(gpu)
