"""What texts stand for, and which of them are equal or ordered."""

import pytest

from scheduler_core.frontends.classes.values import Amount, equal, order, value_of


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("1G", "1Gi"),
        ("1535Mi", "1.5Gi"),
        ("39999MBPS", "40GBPS"),
        ("40Gbps", "40GiBPS"),
        ("999", "1k"),
        ("535.99.1", "560.35.3"),
        ("-1", "0"),
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
    ],
)
def test_equal_values_are_equal_in_any_notation(one, other):
    assert equal(value_of(one), value_of(other))


@pytest.mark.parametrize(
    ("one", "other"), [("40G", "40GBPS"), ("40GBPS", "40GHZ"), ("a10", "10"), ("1.2.3", "1.2"), ("x", "y")]
)
def test_values_of_different_units_or_kinds_have_no_order_and_are_not_equal(one, other):
    assert order(value_of(one), value_of(other)) is None
    assert not equal(value_of(one), value_of(other))


def test_names_are_told_apart_by_the_case_of_their_letters():
    assert not equal(value_of("a10"), value_of("A10"))


@pytest.mark.parametrize("text", ["", "1K", "..GBPS", "40 GBPS", "1.2.3.4", "01.2.3", "４０GBPS", "G"])
def test_what_is_neither_an_amount_nor_a_version_is_a_text(text):
    assert value_of(text) == text


def test_a_unit_word_is_kept_beside_an_exact_amount():
    assert value_of("1.5kbps") == Amount(1500 * 10**9, "BPS")
