"""Expressions that are made to take long end in an error, by count and not by clock."""

from __future__ import annotations

import pytest

from scheduler_core.base.errors import SelectorError
from scheduler_core.cel.work import WORK_LIMIT
from scheduler_core.rules.selectors import Selector, compile_selector

TEN = "[1,2,3,4,5,6,7,8,9,10]"
TOO_MUCH = f"more than {WORK_LIMIT} units of work"
DEEP = "dyn(" + "[" * 18 + "$" + "]" * 18 + ")"


def nested(depth: int, body: str) -> str:
    """Return ``depth`` loops over ten elements around a body."""
    for level in range(depth):
        body = f"{TEN}.all(x{level}, {body})"
    return body


def chained(start: str, times: int, next_: str, body: str) -> str:
    """Return a chain of bindings v0, v1, ..., each made of the one before, around a body about the last."""
    body = body.replace("$", f"v{times}")
    for level in range(times, 0, -1):
        body = f"cel.bind(v{level}, {next_.replace('$', f'v{level - 1}')}, {body})"
    return f"cel.bind(v0, {start}, {body})"


def doubled(body: str) -> str:
    """Return a question about a list that contains the one before twice, 22 times: four million values."""
    return chained("[1]", 22, "[$, $]", body)


def eightfold(start: str) -> str:
    return chained(start, 8, " + ".join(["$"] * 8), "$.size() > 0")


def text_of(length: int, body: str) -> str:
    """Return a question about a text of one letter."""
    return f"cel.bind(t, lists.range({length}).map(i, 'a').join(), {body})"


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
def test_loops_inside_loops_run_out_of_work(body, gpu):
    selector = Selector(nested(7, body))

    with pytest.raises(SelectorError, match=TOO_MUCH):
        selector.matches(gpu)


@pytest.mark.parametrize(
    "body",
    [
        "$ == $",
        "dyn($) == $",
        "!($ != $)",
        "$ in [$]",
        "[$].indexOf($) == 0",
        "[$].lastIndexOf($) == 0",
        "[$].includes($)",
        "{'a': $} == {'a': $}",
        "optional.of($) == optional.of($)",
        "$.distinct().size() == 1",
        "dyn($).flatten(100).size() > 0",
        "sets.contains($, $)",
        "sets.intersects($, $)",
        "sets.equivalent($, $)",
        "'%s'.format([$]) != ''",
        "'%s'.format([{'a': $}]) != ''",
    ],
)
def test_a_structure_that_shares_its_parts_is_walked_only_up_to_the_bound(body, gpu):
    text = doubled(body)

    with pytest.raises(SelectorError, match=TOO_MUCH) as caught:
        Selector(text).matches(gpu)

    assert len(text) < 800
    assert (caught.value.expression, caught.value.device) == (text, gpu.name)


def test_such_a_comparison_is_admitted_by_its_estimate(gpu):
    assert compile_selector(doubled("$ == $")).max_cost < 2000


@pytest.mark.parametrize(
    "body", ["sets.contains([$], [$])", "[$].distinct().size() == 1", "'%s'.format([$]) != ''"]
)
def test_a_structure_that_is_too_deep_to_walk_through_is_refused(body, gpu):
    with pytest.raises(SelectorError, match="more than 100 nested lists or maps"):
        Selector(chained("1", 6, DEEP, body)).matches(gpu)


def test_deep_structures_are_compared_and_flattened_without_recursion(gpu):
    assert Selector(chained("1", 6, DEEP, "$ == $ && [$].flatten(1000) == [1]")).matches(gpu)


@pytest.mark.parametrize("body", ["{'a': 1}[dyn($)] == 1", "[1][dyn($)] == 1", "{dyn($): 1} == {}"])
def test_the_message_of_an_error_is_short_however_large_the_value(body, gpu):
    with pytest.raises(SelectorError) as caught:
        Selector(doubled(body)).matches(gpu)

    assert len(caught.value.reason) < 100


@pytest.mark.parametrize(
    "body",
    [
        text_of(20_000, "t.findAll('.*b|a').size() > 0"),
        text_of(20_000, "t.findAll('').size() > 0"),
        text_of(20_000, nested(3, "!t.matches('(a|b)*c(a|b){50}')")),
        text_of(20_000, nested(3, "t.find('b' + t.substring(0, x0)) == ''")),
        text_of(20_000, nested(3, "!t.contains(t.substring(0, 900) + 'b')")),
        text_of(20_000, nested(3, "t.lastIndexOf(t.substring(0, 900) + 'b') < 0")),
        text_of(20_000, nested(4, "t == t + ''")),
        text_of(20_000, nested(4, "t <= t")),
        text_of(
            20_000,
            "t.split('').size() + t.split('a').size() + t.split('', 19999).size() + t.split('').size() > 0",
        ),
        text_of(20_000, "t.replace('a', t).size() > 0"),
        text_of(20_000, nested(3, "double(t) > 1.0 || true")),
        text_of(20_000, nested(3, "!isSemver(t) && !isURL(t)")),
        text_of(20_000, "lists.range(500).map(i, t).sort().size() > 0"),
        "lists.range(1000).exists(i, 'a'.matches('[^b]{400}' + string(i)))",
        "lists.range(1000).exists(i, 'a'.matches('[^b]{1000}[^b]{1000}' + string(i)) || false)",
        "lists.range(1000).all(i, quantity('1e9999').add(i).compareTo(quantity('1')) > 0)",
    ],
)
def test_texts_and_patterns_count_by_their_size(body, gpu):
    with pytest.raises(SelectorError, match=TOO_MUCH):
        Selector(body).matches(gpu)


def test_the_count_does_not_depend_on_what_is_remembered(gpu):
    selectors = [
        Selector(f"lists.range({size}).exists(i, 'a'.matches('^b' + string(i % 3)))")
        for size in (500, 20_000)
    ]

    for _ in range(3):
        assert not selectors[0].matches(gpu)
        with pytest.raises(SelectorError, match=TOO_MUCH):
            selectors[1].matches(gpu)


def test_literal_patterns_are_counted_when_they_are_compiled():
    patterns = " || ".join(f"device.driver.matches('[^a]{{{550 + index}}}')" for index in range(230))

    with pytest.raises(SelectorError, match=TOO_MUCH) as caught:
        Selector(patterns)

    assert caught.value.device is None


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(1000000).all(x, x >= 0)",
        "lists.range(1000000).reverse().sort()[0] == 0",
        "lists.range(100000).map(x, [x]).distinct().size() == 3",
        "lists.range(1000).all(x, sets.contains(lists.range(1000), [x]))",
        eightfold("'aaaaaaaaaaaaaaaa'"),
        eightfold("[1, 2, 3, 4, 5, 6, 7, 8]"),
        "device.driver" + '.replace("e", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee")' * 20 + ".size() > 1",
        "lists.range(100000).map(x, 'aaaaaaaaaaaaaaaaaaaa').join('bbbbbbbbbbbb').size() > 0",
        "device.driver.matches('(x{100}){100}') || lists.range(999999999).size() == 0",
    ],
)
def test_values_that_grow_without_end_are_refused(text, gpu):
    with pytest.raises(SelectorError):
        Selector(text).matches(gpu)


def test_the_error_of_a_variable_is_raised_at_each_use(gpu):
    assert Selector(f"cel.bind(e, [1][dyn(2)], {nested(3, 'e == 1 || true')})").matches(gpu)
    with pytest.raises(SelectorError, match="index out of bounds: 2"):
        Selector("cel.bind(e, [1][dyn(2)], (e == 1 || true) && e == 1)").matches(gpu)


def test_an_expression_below_the_limit_is_evaluated_to_its_end(gpu):
    selector = compile_selector(nested(4, "x0 + x1 + x2 + x3 > 3"))

    assert selector.max_cost <= 1_000_000
    assert selector.matches(gpu)


def test_an_expression_over_the_cost_limit_of_the_api_is_refused_before_it_is_evaluated():
    with pytest.raises(SelectorError, match="exceeds the limit of 1000000") as caught:
        compile_selector('["a", "b"].join("-") == "a-b"')

    assert caught.value.device is None


def test_a_high_estimate_alone_stops_no_evaluation(gpu):
    selector = Selector('["a", "b"].join("-") == "a-b"')

    assert selector.max_cost > 1_000_000
    assert not selector.is_admitted
    assert selector.matches(gpu)


@pytest.mark.parametrize("macro", ["optMap(x, x)", "optFlatMap(x, optional.of(x))"])
def test_a_chain_that_doubles_with_each_call_is_refused_before_it_is_parsed(macro):
    chain = "optional.of(1)" + f".{macro}" * 30 + ".hasValue()"

    with pytest.raises(SelectorError, match="expand to more than 10240 tokens"):
        compile_selector(chain)


@pytest.mark.parametrize(
    "before",
    ['r"\\" == ""', "'\\'' == ''", "r'''\\''' == ''", '"""\\""" """ == ""', "b'' == b'' // '", '"\'"==""'],
)
def test_no_string_before_it_hides_such_a_chain(before):
    chain = "optional.of(1)" + ".optMap(x, x)" * 30 + ".hasValue()"

    with pytest.raises(SelectorError, match="expand to more than 10240 tokens"):
        compile_selector(f"{before}\n || {chain}")


def test_many_calls_side_by_side_are_no_chain(gpu):
    one = 'device.attributes["gpu.example.com"].?index.optMap(v, v > 2).orValue(false)'

    assert Selector(" && ".join([one] * 20)).matches(gpu)
