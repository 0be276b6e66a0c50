"""Sets of count vectors as bits, against sets of tuples."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.engine.solve.count_vectors import NOTHING, VectorSpace, size_of

COUNTS = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)


def within(counts):
    return list(product(*(range(count + 1) for count in counts)))


def is_under(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


def under(counts, tops):
    return {vector for vector in within(counts) if any(is_under(vector, top) for top in tops)}


def members(box, found):
    """The vectors of a set, asked for one by one."""
    return {
        vector
        for vector in within(box.counts)
        if found & box.raised(NOTHING, vector) == box.raised(NOTHING, vector)
    }


@st.composite
def boxes_with_vectors(draw):
    counts = draw(COUNTS)
    vectors = draw(st.lists(st.sampled_from(within(counts)), min_size=1, max_size=4))
    return (
        VectorSpace(counts),
        vectors,
        draw(st.lists(st.sampled_from(within(counts)), min_size=1, max_size=4)),
    )


@given(COUNTS)
def test_a_box_has_as_many_vectors_as_its_size_says(counts):
    box = VectorSpace(counts)

    everything = box.raised(NOTHING, counts)

    assert everything == (1 << size_of(counts)) - 1
    assert box.holds_all(everything)


@given(boxes_with_vectors())
def test_joining_vectors_gives_what_lies_under_them(given_box):
    box, vectors, _ = given_box

    found = box.joined(NOTHING, vectors)

    assert members(box, found) == under(box.counts, vectors)
    assert box.holds_all(found) == (box.counts in vectors)


@given(boxes_with_vectors())
def test_joining_twice_gives_all_sums_within_the_box(given_box):
    box, first, second = given_box

    found = box.joined(box.joined(NOTHING, first), second)

    sums = {tuple(a + b for a, b in zip(one, two, strict=True)) for one in first for two in second}
    assert members(box, found) == under(box.counts, sums)


@given(boxes_with_vectors())
def test_the_largest_vectors_are_those_under_no_other(given_box):
    box, vectors, _ = given_box

    found = box.largest(box.joined(NOTHING, vectors))

    assert len(found) == len(set(found))
    assert set(found) == {
        one for one in vectors if not any(one != other and is_under(one, other) for other in vectors)
    }
