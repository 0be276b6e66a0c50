"""Whatever a function meets at run time, it answers or refuses: nothing else comes out of a selector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.errors import SelectorError
from scheduler_core.cel.errors import NO_OVERLOAD, CompileError
from scheduler_core.cel.library.registry import OVERLOADS
from scheduler_core.cel.measured import evaluated
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import Domains
from scheduler_core.rules.selectors import DeviceView, Selector

DEVICE = DeviceView(driver="a.example.com", attributes=Domains({"a.example.com": {"b": 1}}))
VALUES = [
    *("1", "-1", "0", "9223372036854775807", "-9223372036854775808", "1u", "18446744073709551615u"),
    *("1.5", "1e300", "-0.0", "0.0/0.0", "1.0/0.0", "true", "null", "int", "device", "device.attributes"),
    *('"a"', '""', '"1.2.3"', '"10.0.0.1/8"', '"("', '"%s"', '"-1h"', 'b"a"', r'b"\xff"'),
    *("[]", "[1]", '["a"]', "[[1]]", "[device]", "[1.0/0.0]", "{}", '{"a": 1}', "{1: 2}"),
    *('duration("1s")', "timestamp(0)", 'quantity("1")', 'quantity("1e100")', 'semver("1.2.3")'),
    *("optional.of(1)", "optional.none()", "[optional.of([1])]", 'device.attributes["x"]'),
    *('ip("1.1.1.1")', 'cidr("1.1.1.1/8")', 'url("https://a")', "format.uuid()"),
]
values = st.sampled_from(VALUES).map("dyn({0})".format)
operators = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", ">", "&&", "||", "in"])
FROM_A_RECEIVER = {
    overload.id for overload in OVERLOADS if "." in overload.signature.partition("(")[0].replace("\\.", "")
}


@st.composite
def calls(draw: st.DrawFn) -> str:
    overload = draw(st.sampled_from(OVERLOADS))
    arguments = [draw(values) for _ in overload.accepts]
    if overload.id in FROM_A_RECEIVER:
        receiver, *arguments = arguments
        return f"{receiver}.{overload.name}({', '.join(arguments)})"
    return f"{overload.name}({', '.join(arguments)})"


expressions = st.one_of(
    calls(),
    st.builds("({0} {1} {2})".format, values, operators, values),
    st.builds("{0}[{1}]".format, values, values),
    st.builds("{0}[?{1}].hasValue()".format, values, values),
    st.builds("{0}.all(x, x == {1})".format, values, values),
    st.builds("[{0}, {1}].distinct()".format, values, values),
    st.builds("[{0}, {1}].sort()".format, values, values),
    st.builds(
        '"{0}".format([{1}])'.format, st.sampled_from(["%s", "%d", "%f", "%e", "%b", "%x", "%o"]), values
    ),
)


@given(expressions, values)
@settings(max_examples=400, deadline=None)
def test_a_selector_answers_or_raises_a_selector_error(expression, other):
    for text in (f"dyn({expression})", f"dyn({expression}) == {other}"):
        answer = answer_to(text)

        assert isinstance(answer, bool) or (answer.expression == text and answer.reason)


def answer_to(text: str) -> bool | SelectorError:
    try:
        return Selector(text).matches(DEVICE)
    except SelectorError as error:
        return error


KINDS = [
    *(
        "null",
        "1",
        "1u",
        "1.5",
        "true",
        '"a"',
        'b"a"',
        "[1]",
        "[null]",
        '{"a": 1}',
        '{"a": null}',
        "int",
        "device",
    ),
    *(
        'duration("1s")',
        "timestamp(0)",
        'quantity("1")',
        'semver("1.2.3")',
        'ip("1.1.1.1")',
        'cidr("1.1.1.1/8")',
    ),
    *('url("https://a")', "format.uuid()", "optional.of(1)", "optional.of(null)", "optional.none()"),
    *(
        "device.attributes",
        'device.attributes["x"]',
        'device.attributes["a.example.com"].b',
        "device.capacity",
    ),
]
"""A value of each kind; what has the type of nothing in particular, null and the values of unknown type."""
NULLS = ["null", "(true ? null : {0})", "[null][0]"]
OF_KIND = {
    "int": "1",
    "uint": "1u",
    "double": "1.5",
    "bool": "true",
    "string": '"a"',
    "bytes": 'b"a"',
    "duration": 'duration("1s")',
    "timestamp": "timestamp(0)",
    "dyn": "dyn(1)",
    "kubernetes.Quantity": 'quantity("1")',
    "kubernetes.Semver": 'semver("1.2.3")',
    "net.IP": 'ip("1.1.1.1")',
    "net.CIDR": 'cidr("1.1.1.1/8")',
    "kubernetes.URL": 'url("https://a")',
    "kubernetes.NamedFormat": "format.uuid()",
}
CONTROL = [
    *(
        "{0} ? 1 : 2",
        "!{0}",
        "-{0}",
        "{0} && true",
        "true || {0}",
        "{0} || false",
        "{0}.a",
        "{0}[0]",
        "{0}[?0]",
    ),
    *(
        "{0}.?a",
        "has({0}.a)",
        "has({0}.?a.b)",
        "[?{0}]",
        "{{?'a': {0}}}",
        "{{{0}: 1}}",
        "[{0}][0].a",
        "{0}.all(x, x)",
    ),
    *(
        "{0}.exists(x, true)",
        "{0}.exists_one(x, x)",
        "{0}.map(x, x)",
        "{0}.filter(x, x)",
        "[1].map(x, {0}, x)",
    ),
    *("{0}.transformList(i, v, v)", "{0}.transformMap(i, v, v)", "{{'a': 1}}.transformMapEntry(k, v, {0})"),
    *("[1].transformMap(i, v, {0})", "{0}.exists(i, v, v)", "{0}.optMap(x, x)", "{0}.optFlatMap(x, x)"),
    *("{0}.or(optional.of(1))", "{0}.orValue(1)", "optional.of(1).or({0})", "optional.none().orValue({0})"),
    *(
        "optional.of(1).optFlatMap(x, {0})",
        "{0}.sortBy(x, x)",
        "[1, 2].sortBy(x, {0})",
        "cel.bind(x, {0}, x.a)",
    ),
    *(
        "{0} in {0}",
        "1 in {0}",
        "{0} in [1, 2]",
        "{0} == {0}",
        "{0} != {0}",
        "{0} < {0}",
        "{0} + {0}",
        "{0} - {0}",
    ),
    *(
        "{0} * {0}",
        "{0} / {0}",
        "{0} % {0}",
        "[{0}].sort()",
        "[{0}].sum()",
        "[{0}].min()",
        "[[{0}]].flatten()",
    ),
    *("[{0}].join()", "optional.unwrap([{0}])", "'%s %d'.format([{0}, {0}])", "'%f %e %b %x %o'.format({0})"),
]


def _right(type_: str) -> str:
    """Return a value of the type of a parameter."""
    name, _, inside = type_.partition("<")
    match name:
        case "list":
            return f"[{_right(inside[:-1])}]"
        case "map":
            return '{"a": 1}'
        case "optional_type":
            return f"optional.of({_right(inside[:-1])})"
        case _:
            return OF_KIND.get(name, "1")


def _called(overload: Overload, arguments: list[str]) -> str:
    if overload.id in FROM_A_RECEIVER:
        receiver, *arguments = arguments
        return f"{receiver}.{overload.name}({', '.join(arguments)})"
    return f"{overload.name}({', '.join(arguments)})"


def with_one_wrong_argument() -> Iterator[str]:
    """Yield, for each function and parameter, calls with an argument of every kind."""
    distinct = {(o.name, o.parameters, o.id in FROM_A_RECEIVER): o for o in OVERLOADS if "@" not in o.name}
    for overload in distinct.values():
        right = [_right(parameter) for parameter in overload.parameters]
        for position, value in enumerate(right):
            nulls = [text.format(value) for text in NULLS]
            for wrong in (*map("dyn({0})".format, KINDS), *nulls):
                yield _called(overload, [*right[:position], wrong, *right[position + 1 :]])


def with_control_flow() -> Iterator[str]:
    """Yield every operator and macro around a value of each kind, known and unknown."""
    for text in CONTROL:
        for value in KINDS:
            for wrong in (value, f"dyn({value})", f"(true ? null : {value})"):
                yield text.format(wrong)


@pytest.mark.parametrize("texts", [with_one_wrong_argument, with_control_flow])
def test_a_wrong_type_is_never_more_than_an_error_of_the_expression(texts):
    """Whatever else comes out of Python, an AttributeError say, fails this test."""
    wrong = list(texts())

    answers = [answer_to(f"dyn({text}) == 1 || false") for text in wrong]

    assert len(answers) > 4000
    assert all(isinstance(answer, bool) or answer.reason for answer in answers)


def test_the_measuring_evaluator_gives_the_same_answer():
    for text in with_control_flow():
        answer = answer_to(f"dyn({text}) == 1")
        try:
            measured, _ = evaluated(f"dyn({text}) == 1", DEVICE)
        except CompileError:
            continue
        if isinstance(answer, bool):
            assert measured is answer, text
        elif answer.device is not None:
            assert not isinstance(measured, bool), text


@pytest.mark.parametrize(
    "text",
    [
        "null.major() == 1",
        'null.validate("a").hasValue()',
        'null.getHostname() == ""',
        "null.optMap(x, x).hasValue()",
        "{'a': 1}.transformMapEntry(k, v, null) == {}",
        '(true ? null : semver("1.2.3")).major() == 1',
        "sign([null][0]) == 1",
        "(true ? null : timestamp(0)).getHours() == 1",
    ],
)
def test_null_is_no_argument_of_a_function_on_values_of_a_library(text):
    answer = answer_to(text)

    assert isinstance(answer, SelectorError)
    assert answer.reason.startswith(NO_OVERLOAD) or "no matching overload" in answer.reason
