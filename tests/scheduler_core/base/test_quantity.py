import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.quantity import NANO, Quantity

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0", 0),
        ("1", NANO),
        ("500m", NANO // 2),
        ("4864Mi", 4864 * 2**20 * NANO),
        ("40Gi", 40 * 2**30 * NANO),
        ("1.5Gi", 3 * 2**29 * NANO),
        ("5e9", 5 * 10**9 * NANO),
        ("2E3", 2000 * NANO),
        ("2E", 2 * 10**18 * NANO),
        (".5", NANO // 2),
        ("5.", 5 * NANO),
        ("+3", 3 * NANO),
        ("-3", -3 * NANO),
        ("1n", 1),
    ],
)
def test_a_quantity_is_read_exactly(text, nano):
    assert Quantity.parse(text).nano == nano


def test_less_than_a_nano_rounds_up_in_magnitude_as_the_api_does():
    assert Quantity.parse("0.0000000001").nano == 1
    assert Quantity.parse("-0.0000000001").nano == -1


@pytest.mark.parametrize("text", ["", "Gi", ".", "1K", "1 Gi", "1GI", "0x1", "1e", "--1", "1e1Gi", "١"])
def test_what_is_no_quantity_is_refused_with_the_text_and_the_rule(text):
    with pytest.raises(ValueError, match="must be a Kubernetes quantity") as error:
        Quantity.parse(text)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize("text", ["1e999999999", "9" * 100_000])
def test_a_hostile_number_is_refused_at_once(text):
    with pytest.raises(ValueError, match="at most 64"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    "text", ["0", "7", "40Gi", "4864Mi", "20096Mi", "500m", "1536Ki", "5k", "3G", "1n", "98"]
)
def test_a_canonical_quantity_prints_as_it_was_written(text):
    assert str(Quantity.parse(text)) == text


def test_equal_amounts_are_equal_in_any_spelling():
    assert Quantity.parse("1Gi") == Quantity.parse("1024Mi") == Quantity.parse("1073741824")
    assert Quantity.parse("1G") < Quantity.parse("1Gi")


@given(st.integers(0, 10**9), st.integers(0, 999), st.sampled_from(SUFFIXES))
def test_printing_then_reading_is_identity(whole, part, suffix):
    quantity = Quantity.parse(f"{whole}.{part:03}{suffix}")

    assert Quantity.parse(str(quantity)) == quantity


@pytest.mark.parametrize("text", ["8Ei", "9Ei", "7.9999999999999999999Ei", "1000000Ei", "8192Pi"])
def test_an_amount_with_a_binary_suffix_is_at_most_the_largest_integer_of_64_bits(text):
    assert Quantity.parse(text) == Quantity.of(2**63 - 1)
    assert Quantity.parse("9223372036854775808") == Quantity.of(2**63)
