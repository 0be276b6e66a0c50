"""Slices from JSON text are the slices from the parsed document, mistakes and all."""

import json
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistaken_input import COUNTERS, DEVICES, DRIVER, mutated

from controller.model.slice_text import read_v1_slice
from controller.reading import resource_slice, slice_text
from scheduler_core.base.errors import InvalidSlice
from scheduler_core.codec import v1

PLAIN = DEVICES | {
    "spec": DEVICES["spec"]
    | {
        "devices": [
            {key: value for key, value in one.items() if key in ("name", "attributes", "consumesCounters")}
            | {"capacity": {"m": {"value": "2Gi"}}}
            for one in DEVICES["spec"]["devices"]
        ]
    }
}


TAINT = {"key": "tangram.dev/allocator", "value": "controller", "effect": "NoSchedule"}
TAINTED = PLAIN | {
    "spec": PLAIN["spec"] | {"devices": [one | {"taints": [TAINT]} for one in PLAIN["spec"]["devices"]]}
}


def outcome(function, *arguments):
    try:
        return repr(function(*arguments))
    except InvalidSlice as error:
        return str(error)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**48))
def test_text_and_document_give_the_same_slice_or_refusal(seed):
    chance = Random(seed)
    document = mutated(chance.choice([COUNTERS, DEVICES, PLAIN, TAINTED]), chance)
    try:
        text = json.dumps(document, allow_nan=False).encode()
    except ValueError:  # 1e400 is no JSON
        return

    for _ in range(2):
        assert outcome(read_v1_slice, text) == outcome(v1.decode_slice, json.loads(text))


@pytest.mark.parametrize("document", [COUNTERS, DEVICES, PLAIN, TAINTED])
def test_text_that_is_written_in_another_way_means_the_same(document):
    text = json.dumps(document, indent=2).replace("part", "\\u0070art").encode()

    assert read_v1_slice(text) == v1.decode_slice(json.loads(text)) == read_v1_slice(text)


def test_a_driver_never_gets_what_was_read_for_another():
    other = json.dumps(PLAIN).replace(DRIVER, "other.example.com").encode()

    for text in (json.dumps(PLAIN).encode(), other):
        assert read_v1_slice(text) == v1.decode_slice(json.loads(text))


def test_what_the_server_adds_to_the_metadata_does_not_matter():
    metadata = PLAIN["metadata"] | {
        "uid": "u",
        "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
    }

    assert read_v1_slice(json.dumps(PLAIN | {"metadata": metadata}).encode()) == v1.decode_slice(PLAIN)


def test_text_that_is_no_json_is_refused():
    with pytest.raises(msgspec.DecodeError):
        read_v1_slice(json.dumps(PLAIN).encode()[:-1])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**48))
def test_the_controller_sees_the_same_slice_in_its_text(seed):
    chance = Random(seed)
    document = mutated(chance.choice([COUNTERS, DEVICES, PLAIN, TAINTED]), chance)
    document["metadata"] = {"name": "s"}  # kube_api has checked it
    try:
        text = json.dumps(document, allow_nan=False).encode()
    except ValueError:
        return

    one, other = slice_text(text), resource_slice(json.loads(text))

    for name in ("name", "node", "is_owned", "problem", "content", "is_multi_node"):
        assert repr(getattr(one, name)) == repr(getattr(other, name))
