"""Documents: what they are, and errors that name the place they came from."""

import pytest

from scheduler_core.codec.claims import decode_class
from scheduler_core.codec.documents import (
    Document,
    InvalidDocument,
    InvalidNodeObject,
    decode_node,
    decoded,
    is_composite_slice,
)
from scheduler_core.model.nodes import Node


def test_what_a_decoder_refuses_names_the_place():
    with pytest.raises(InvalidDocument) as refused:
        decoded(Document("a.yaml:3", {"kind": "DeviceClass", "metadata": {}}), decode_class)

    assert refused.value.place == "a.yaml:3"
    assert str(refused.value) == f"a.yaml:3: {refused.value.reason}"
    assert "metadata.name" in refused.value.reason


@pytest.mark.parametrize(
    ("content", "is_composite"),
    [
        ({"kind": "CompositeResourceSlice"}, True),
        ({"kind": "ResourceSlice", "spec": {"deviceMixins": []}}, True),
        ({"kind": "ResourceSlice", "spec": {"nodeSelectionDelegated": True}}, True),
        ({"kind": "ResourceSlice", "spec": {"devices": [{"name": "a"}, {"composite": {}}]}}, True),
        ({"kind": "ResourceSlice", "spec": {"devices": [{"name": "a", "attributes": {}}]}}, False),
        ({"kind": "ResourceSlice", "spec": {"devices": "none"}}, False),
        ({"kind": "ResourceSlice", "spec": None}, False),
        ({"kind": "ResourceSlice"}, False),
    ],
)
def test_the_fields_of_a_slice_tell_its_dialect_where_its_kind_does_not(content, is_composite):
    assert is_composite_slice(content) is is_composite


def test_a_node_has_a_name_and_labels():
    labels = {"zone": "a"}

    assert decode_node({"metadata": {"name": "n", "labels": labels}}) == Node("n", labels)
    assert decode_node({"metadata": {"name": "n", "labels": None}}) == Node("n", {})


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        (None, "metadata.name"),
        ({"name": ""}, "metadata.name"),
        ({"name": 3}, "metadata.name"),
        ({"name": "n", "labels": ["zone"]}, "metadata.labels"),
        ({"name": "n", "labels": {"zone": 1}}, "metadata.labels"),
    ],
)
def test_a_node_whose_name_or_labels_are_no_strings_is_refused(metadata, field):
    with pytest.raises(InvalidNodeObject) as refused:
        decode_node({"metadata": metadata})

    assert refused.value.field == field
