"""Which GPUs of which nodes a device of several nodes has: the annotation of its slices."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.errors import InvalidSlice
from scheduler_core.codec.members import encode_members, members_of
from scheduler_core.model.ownership import MEMBERS

names = st.text("abc-1", min_size=1, max_size=5)
minors = st.lists(st.integers(0, 20), max_size=4, unique=True).map(sorted).map(tuple)


def slice_of(text, pool="multi-node/a", name="s"):
    annotations = {} if text is None else {MEMBERS: text}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": {"pool": {"name": pool}}}


@given(st.lists(st.dictionaries(names, st.dictionaries(names, minors, max_size=3), max_size=3), max_size=2))
def test_what_slices_say_is_read_as_it_was_written(written):
    merged = {device: nodes for one in written for device, nodes in one.items()}

    assert members_of(slice_of(encode_members(one)) for one in written) == merged


def test_slices_without_the_annotation_and_of_a_nodes_pool_say_nothing():
    text = encode_members({"d": {"n": (0,)}})

    assert members_of([slice_of(None), slice_of(text, pool="node-1")]) == {}


@pytest.mark.parametrize(
    "value",
    ["{", "[" * 100_000, "[]", '{"d": []}', '{"d": {"n": 0}}', '{"d": {"n": [-1]}}', '{"d": {"n": [true]}}'],
    ids=["half a text", "too deep", "a list", "no nodes", "no list", "negative", "no number"],
)
def test_anything_else_is_a_mistake_that_names_the_slice_and_the_annotation(value):
    with pytest.raises(InvalidSlice) as told:
        members_of([slice_of(value, name="broken")])

    assert str(told.value).startswith(f"ResourceSlice broken: metadata.annotations[{MEMBERS}]")


def test_equal_members_have_equal_texts():
    one = {"d": {"n": (0, 1), "m": (2,)}, "e": {}}
    other = {"e": {}, "d": {"m": (2,), "n": (0, 1)}}

    assert encode_members(one) == encode_members(other)
    assert json.loads(encode_members(one)) == {"d": {"n": [0, 1], "m": [2]}, "e": {}}
