"""Slices of a node sort as they were packed, whatever their names had to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.publishing.names import order_of

_NODES = st.sampled_from(["node-1", "node-10", "n-07-0badc0de", "a.b"])


@given(_NODES, st.permutations(range(130)), st.sets(st.integers(0, 129)))
def test_more_than_100_slices_and_other_names_keep_the_order(node, indices, taken):
    names = [f"{node}-tangram.dev-{index:02d}" + ("-12345678" if index in taken else "") for index in indices]

    found = sorted(names, key=order_of)

    assert [names.index(name) for name in found] == [indices.index(index) for index in range(130)]


def test_a_name_without_an_index_comes_first():
    assert sorted(["n-d-00", "other"], key=order_of) == ["other", "n-d-00"]
