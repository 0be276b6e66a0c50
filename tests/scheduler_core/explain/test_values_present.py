"""Which value was probably meant by one that no device has: the one of nearest size, never another thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.explain.values_present import number_distance, present

GH200 = ["1g.23gb", "1g.23gb+me", "1g.47gb", "2g.47gb"]
A100 = ["1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]


@pytest.mark.parametrize(
    ("wanted", "found", "meant"),
    [
        ("1g.24gb", GH200, "1g.23gb"),
        ("1g.24gb+me", GH200, "1g.23gb+me"),
        ("1g.48gb", GH200, "1g.47gb"),
        ("1G.23GB", GH200, "1g.23gb"),
        ("1g.6gb", A100, "1g.5gb"),
        ("1g5gb", A100, "1g.5gb"),
        ("3g.40gb", A100, None),
        ("9g.90gb", A100, None),
        ("NVIDIA A100-SXM4-80GB", ["NVIDIA A100-SXM4-40GB"], None),
        ("red", ["bed", "blue"], "bed"),
        ("9", ["0", "7"], "7"),
    ],
)
def test_a_value_is_corrected_by_what_it_means(wanted, found, meant):
    assert present("profile", found, [wanted]).nearest == meant


@given(st.integers(1, 7), st.integers(1, 200), st.lists(st.tuples(st.integers(1, 7), st.integers(1, 200))))
def test_no_profile_is_corrected_to_half_or_twice_its_size(slices, memory, others):
    wanted = f"{slices}g.{memory}gb"

    meant = present("profile", [f"{g}g.{gb}gb" for g, gb in others], [wanted]).nearest

    if meant is not None:
        assert number_distance(wanted, meant) <= 0.5
