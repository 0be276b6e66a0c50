"""Masks hold sets of small numbers."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.tables.bits import mask_of, positions

NUMBERS = st.lists(st.integers(0, 200))


@given(NUMBERS)
def test_a_mask_yields_its_numbers_once_and_ascending(numbers):
    assert list(positions(mask_of(numbers))) == sorted(set(numbers))


@given(st.integers(0, 2**200))
def test_the_mask_of_a_masks_numbers_is_the_mask(mask):
    assert mask_of(positions(mask)) == mask


@given(NUMBERS, NUMBERS)
def test_the_bits_of_two_masks_meet_where_the_sets_do(one, two):
    assert set(positions(mask_of(one) & mask_of(two))) == set(one) & set(two)
    assert set(positions(mask_of(one) | mask_of(two))) == set(one) | set(two)
