"""Whatever a function meets at run time, it answers or refuses: nothing else comes out of a selector."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.errors import SelectorError
from scheduler_core.cel.registry import OVERLOADS
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
