"""The codec remembers parts that it has read. Nobody can tell, but by the time it takes."""

import copy
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistaken_input import COMPOSITE, COUNTERS, DEVICES, mutated

from scheduler_core.base.errors import InvalidSlice
from scheduler_core.codec import amounts, attributes, composite, v1, v1_device, v1_text
from scheduler_core.codec.decoded import Decoded, content


def forget():
    for module in (amounts, attributes, composite, v1, v1_device, v1_text):
        for value in vars(module).values():
            if isinstance(value, Decoded):
                value._kept.clear()


def outcome(decode, document):
    """What is read, in words that tell True from 1."""
    try:
        return repr(decode(copy.deepcopy(document)))
    except InvalidSlice as error:
        return str(error)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**48))
def test_what_was_read_before_never_shows(seed):
    chance = Random(seed)
    original = chance.choice([COUNTERS, DEVICES, COMPOSITE])
    decode = composite.decode_slice if original is COMPOSITE else v1.decode_slice
    changed = mutated(original, chance)
    if not isinstance(changed.get("kind"), str | None):
        changed["kind"] = "ResourceSlice"
    outcome(decode, original)

    after_another = outcome(decode, changed)
    again = outcome(decode, changed)
    forget()

    assert after_another == again == outcome(decode, changed)


def device(**parts):
    spec = DEVICES["spec"] | {"devices": [{"name": "d", **parts}]}
    return v1.decode_slice(DEVICES | {"spec": spec})


@pytest.mark.parametrize(
    ("part", "good", "bad"),
    [
        ("attributes", {"a": {"int": 1}}, {"a": {"int": True}}),
        ("attributes", {"a": {"int": 1}}, {"a": {"int": 1.0}}),
        ("attributes", {"a": {"bool": True}}, {"a": {"bool": 1}}),
        ("attributes", {"a": {"version": "1.2.3"}}, {"a": {"int": "1.2.3"}}),
        ("attributes", {"True": {"int": 1}}, {True: {"int": 1}, "True": {"int": 1}}),
        ("capacity", {"a": {"value": 1}}, {"a": {"value": True}}),
        (
            "consumesCounters",
            [{"counterSet": "s", "counters": {"c": {"value": 1}}}],
            [{"counterSet": "s", "counters": {"c": {"value": True}}}],
        ),
    ],
)
def test_what_is_equal_in_python_is_not_taken_for_the_same(part, good, bad):
    accepted, refused = device(**{part: good}), device(**{part: bad})

    assert (len(accepted.devices), accepted.broken) == (1, {})
    assert (refused.devices, list(refused.broken)) == ((), ["d"])


def test_equal_parts_become_one_object():
    one, two = (v1.decode_slice(copy.deepcopy(DEVICES)).devices[0] for _ in range(2))

    assert one.attributes is two.attributes
    assert one.capacity is two.capacity
    assert one.draws is two.draws
    assert one.name is two.name


def test_equal_composite_devices_and_mixins_become_one_object():
    one, two = (composite.decode_slice(copy.deepcopy(COMPOSITE)) for _ in range(2))

    assert all(mine is other for mine, other in zip(one.devices, two.devices, strict=True))
    assert one.mixins[0] is two.mixins[0]


def test_a_mistake_in_equal_parts_is_told_with_the_place_of_each():
    wrong = {"attributes": {"a": {"string": "x" * 65}}}
    devices = [{"name": f"d-{number}", **wrong} for number in range(2)]

    found = v1.decode_slice(DEVICES | {"spec": DEVICES["spec"] | {"devices": devices}})

    assert "spec.devices[0].attributes.a.string" in found.broken["d-0"]
    assert "spec.devices[1].attributes.a.string" in found.broken["d-1"]


def test_no_more_is_remembered_than_was_said():
    decoded = Decoded(most=2)

    for number in range(5):
        decoded.put(number, number)

    assert decoded.get(4) == 4
    assert [number for number in range(4) if decoded.get(number) is not None] == []


def test_what_no_document_holds_has_no_content():
    assert content({"a": object()}) is None
    assert content({"a": 1}) != content({"a": True}) != content({"a": 1.0})
