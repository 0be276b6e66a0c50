"""The entry points of ``cel``: views, compilation, and errors that name the expression and the device."""

from __future__ import annotations

import pytest

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.model.device import Device, DeviceName, QualifiedName
from scheduler_core.rules.selectors import Selector, compile_selector, view


@pytest.fixture
def device() -> Device:
    return Device(
        name=DeviceName("dev-7"),
        attributes={
            QualifiedName("a.example.com/kind"): "big",
            QualifiedName("a.example.com/release"): Version.parse("12.6"),
            QualifiedName("b.example.com/index"): 7,
        },
        capacity={QualifiedName("a.example.com/copy-engines"): Quantity.of(3)},
    )


@pytest.mark.parametrize(
    "text",
    [
        'device.driver == "a.example.com"',
        'device.attributes["a.example.com"].kind == "big"',
        'device.attributes["b.example.com"].index == 7',
        'device.attributes["a.example.com"].release == semver("12.6.0")',
        'device.capacity["a.example.com"]["copy-engines"].compareTo(quantity("3")) == 0',
        "!device.allowMultipleAllocations",
    ],
)
def test_a_device_of_the_model_is_seen_by_domain_and_identifier(device, text):
    seen = view("a.example.com", device)

    assert compile_selector(text).matches(seen)


def test_an_unknown_domain_is_empty_and_no_member(device):
    seen = view("a.example.com", device)

    assert compile_selector('device.attributes["c.example.com"].size() == 0').matches(seen)
    assert not compile_selector('"c.example.com" in device.attributes').matches(seen)


def test_reading_an_unknown_domain_adds_nothing_to_the_view(device):
    seen = view("a.example.com", device)

    compile_selector('!has(device.attributes["c.example.com"].x)').matches(seen)

    assert set(seen.attributes) == {"a.example.com", "b.example.com"}


def test_a_missing_identifier_is_an_error_that_names_expression_device_and_key(device):
    text = 'device.attributes["a.example.com"].colour == "red"'

    with pytest.raises(SelectorError) as caught:
        compile_selector(text).matches(view("a.example.com", device))

    assert caught.value.expression == text
    assert caught.value.device == "dev-7"
    assert caught.value.reason == "no such key: colour"


def test_a_compile_error_says_where_and_blames_no_device():
    with pytest.raises(SelectorError) as caught:
        compile_selector("device.drivers == 'x'")

    assert caught.value.device is None
    assert caught.value.reason.startswith("1:7: undefined field 'drivers'")


def test_a_capacity_compared_with_a_string_does_not_compile():
    with pytest.raises(SelectorError, match=r"no matching overload.*kubernetes.Quantity, string"):
        compile_selector("device.capacity['a.example.com'].seats == '16'")


def test_an_answer_that_is_no_bool_is_an_error_of_the_device(device):
    with pytest.raises(SelectorError, match="result of type string could not be converted to bool") as caught:
        compile_selector('device.attributes["a.example.com"].kind').matches(view("a.example.com", device))

    assert caught.value.device == "dev-7"


def test_a_text_is_compiled_once():
    assert compile_selector('device.driver == "x"') is compile_selector('device.driver == "x"')


def test_a_text_of_exactly_the_limit_compiles_and_one_byte_more_does_not():
    longest = "true" + " " * (EXPRESSION_LENGTH - 4)

    assert Selector(longest).text == longest
    with pytest.raises(SelectorError, match=f"at most {EXPRESSION_LENGTH}"):
        Selector(longest + " ")


@pytest.mark.parametrize(
    "text",
    ["(" * 100 + "true" + ")" * 100, "1" + "+1" * 100 + " == 1", "device.attributes" + ".a" * 1000 + " == 1"],
    ids=["parentheses", "sums", "fields"],
)
def test_what_is_nested_too_deeply_is_refused_as_such(text):
    with pytest.raises(SelectorError, match="nested too deeply"):
        compile_selector(text)


def test_a_long_row_of_conditions_is_not_deep(device):
    text = " || ".join(f'device.driver == "{index}.example.com"' for index in range(200))

    assert not compile_selector(text).matches(view("a.example.com", device))


def test_text_that_is_no_unicode_does_not_compile():
    with pytest.raises(SelectorError, match="not valid Unicode"):
        compile_selector("'\ud800' == ''")
