"""What texts stand for, and which of them are equal or ordered."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.frontends.classes.keys import names_versions
from scheduler_core.frontends.classes.values import VERSION, Amount, Value, equal, order, value_of

DEFINITION = Path(__file__).parents[4] / "deploy/manifests/base/crd-resource-class.yaml"


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("1G", "1Gi"),
        ("1535Mi", "1.5Gi"),
        ("39999MBPS", "40GBPS"),
        ("40Gbps", "40GiBPS"),
        ("999", "1k"),
        ("535.99.1", "560.35.3"),
        ("535", "535.104.05"),
        ("7.5.0", "8.0"),
        ("12.6", "v12.6.1"),
        ("1.2.3-rc.2", "1.2.3-rc.10"),
        ("1.2.3-rc.10", "1.2.3"),
        ("-1", "0"),
        ("1.5", "1.25k"),
    ],
)
def test_amounts_and_versions_are_ordered_by_what_they_stand_for(smaller, larger):
    assert order(value_of(smaller), value_of(larger)) == -1
    assert order(value_of(larger), value_of(smaller)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1Gi", "1024Mi"),
        ("40GBPS", "40gbps"),
        ("40GBPS", "40000mbps"),
        ("30GB", "30G"),
        ("1e3", "1k"),
        ("40kibps", "40KiBPS"),
        ("t4", "t4"),
        ("560.35.03", "560.35.3"),
        ("560", "560.0.0"),
        ("v1.2", "1.2.0"),
        ("1.2.3+one", "1.2.3+two"),
    ],
)
def test_equal_values_are_equal_in_any_notation(one, other):
    assert equal(value_of(one), value_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("40G", "40GBPS"),
        ("40GBPS", "40GHZ"),
        ("a10", "10"),
        ("v100", "100"),
        ("1.2.3", "30G"),
        ("1.2.3", "1.2.x"),
        ("x", "y"),
    ],
)
def test_values_of_different_units_or_kinds_have_no_order_and_are_not_equal(one, other):
    assert order(value_of(one), value_of(other)) is None
    assert not equal(value_of(one), value_of(other))


def test_names_are_told_apart_by_the_case_of_their_letters():
    assert not equal(value_of("a10"), value_of("A10"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1K",
        "..GBPS",
        "40 GBPS",
        "1.2.3.4",
        "1.2-rc",
        "1.2.3-01",
        "v100",
        "1" * 80 + ".2.3",
        "４０GBPS",
        "G",
    ],
)
def test_what_is_neither_an_amount_nor_a_version_is_a_text(text):
    assert value_of(text) == Value(text)


def test_a_unit_word_is_kept_beside_an_exact_amount():
    assert value_of("1.5kbps").amount == Amount(1500 * 10**9, "BPS")


def test_a_plain_number_is_an_amount_and_a_version_and_keeps_its_text():
    earlier, later = value_of("12.9"), value_of("12.10")

    assert order(earlier, later) == 1
    assert order(earlier, later, as_versions=True) == -1
    assert equal(later, value_of("12.1"))
    assert not equal(later, value_of("12.1"), as_versions=True)


@pytest.mark.parametrize(
    ("key", "is_so"),
    [
        ("driverVersion", True),
        ("a.example.com/firmware_version", True),
        ("cudaComputeCapability", True),
        ("version", True),
        ("memory", False),
        ("versions.example.com/size", False),
    ],
)
def test_the_name_of_a_key_says_whether_plain_numbers_are_versions(key, is_so):
    assert names_versions(key) is is_so


numbers = st.lists(st.integers(0, 10**18 - 1), min_size=1, max_size=3)


@given(numbers, numbers, st.lists(st.sampled_from(("", "0", "00")), min_size=6, max_size=6))
def test_versions_are_compared_number_by_number_however_they_are_printed(one, other, zeros):
    def printed(found, pads):
        return ".".join(f"{pad}{number}"[-18:] for pad, number in zip(pads, found, strict=False))

    def padded(found):
        return [*found, 0, 0][:3]

    expected = (padded(one) > padded(other)) - (padded(one) < padded(other))

    found = order(value_of(printed(one, zeros)), value_of(printed(other, zeros[3:])), as_versions=True)

    assert found == expected


def test_the_api_server_takes_the_versions_that_are_read_here():
    assert f"self.values[0].matches('^{VERSION}$')" in DEFINITION.read_text()
