"""What an answer depends on, where the text of the expression says so."""

from __future__ import annotations

import pytest

from scheduler_core.rules.selectors import compile_selector

A_B = ("attributes", "a", "b")


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("true", set()),
        ('device.driver == "x"', {("driver", "", "")}),
        ("device.allowMultipleAllocations", {("allowMultipleAllocations", "", "")}),
        ('device.attributes["a"].b == 1', {A_B}),
        ('device.attributes["a"]["b"] == 1', {A_B}),
        ('has(device.attributes["a"].b)', {A_B}),
        ('"b" in device.attributes["a"]', {A_B}),
        ('device.attributes[?"a"].?b.orValue(1) == 1', {A_B}),
        ('device.attributes["a"].b.exists(x, x == "y")', {A_B}),
        ('device.attributes["a"].b in ["x", "y"]', {A_B}),
        ('device.capacity["a"]["c-d"].isGreaterThan(quantity("1"))', {("capacity", "a", "c-d")}),
        ('device.attributes["a"].b == 1 || device.attributes["a"].c == 2', {A_B, ("attributes", "a", "c")}),
        ('cel.bind(d, device.attributes["a"], d.b == 1 && d.c == 2)', {A_B, ("attributes", "a", "c")}),
        ('cel.bind(d, device, d.attributes["a"].b == 1)', {A_B}),
        ('cel.bind(b, 1, device.attributes["a"].b == b)', {A_B}),
        ("[1].all(device, device == 1)", set()),
    ],
)
def test_reads_are_listed_one_by_one(text, reads):
    assert compile_selector(text).reads == frozenset(reads)


@pytest.mark.parametrize(
    "text",
    [
        'device.attributes[device.driver].b == "x"',
        '["a", "b"].exists(d, "x" in device.attributes[d])',
        '"a" in device.attributes',
        'device.attributes["a"].exists(k, k == "b")',
        'device.attributes["a"].size() == 1',
        'device.attributes["a"] == {}',
        'cel.bind(d, device.attributes["a"], d == {})',
        "device == device",
    ],
)
def test_reads_are_unknown_where_a_key_or_the_set_of_keys_is_computed(text):
    assert compile_selector(text).reads is None
