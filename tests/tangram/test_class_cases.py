"""Cases of resource classes: what makes one wrong, and that a wrong answer is seen."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

GPU = {"name": "g", "node": "n", "quantity": 1, "properties": {"Kind": "gpu"}}
CLASS = {
    "name": "c",
    "resourceSelector": [{"matchExpressions": [{"key": "Kind", "operator": "Eq", "values": ["gpu"]}]}],
}
NIC_CLASS = copy.deepcopy(CLASS) | {
    "resourceSelector": [{"matchExpressions": [{"key": "Kind", "operator": "Exists"}]}]
}
EXPECT = {
    "selected": {"c": ["g"]},
    "status": {"c": {"Allocatable": 1, "Requested": 1}},
    "allocations": [
        {"pod": "p", "node": "n", "devices": [{"class": "c", "device": "g", "quantity": 1}]},
        {"pod": "q", "unschedulable": True},
    ],
}
CASE = {
    "name": "case",
    "devices": [GPU],
    "classes": [CLASS],
    "pods": [{"name": "p", "requests": {"c": 1}}, {"name": "q", "requests": {"c": 1}}],
    "expect": EXPECT,
}


@pytest.fixture
def judged(tangram, written):
    """Judge one case and return its line, empty where it passed."""

    def judge(case: Any) -> str:
        answer = tangram("conformance", written("c.json", json.dumps(case)))
        lines = answer.out.splitlines()[1:-1]
        return lines[0] if lines else ""

    return judge


def test_a_right_case_passes(judged):
    assert judged(CASE) == ""


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({"selected": {"c": []}}, "selected of c: expected [], found ["),
        ({"status": {"c": {"Allocatable": 1, "Requested": 0}}}, "status of c: expected"),
        ({"allocations": EXPECT["allocations"][:1]}, "allocations: expected"),
        ({"selected": {"other": []}}, "selected of other: expected [], found null"),
    ],
)
def test_a_wrong_answer_is_told(judged, expect, told):
    assert told in judged(CASE | {"expect": expect})


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (
            {"remove_node": "n", "expect_status": {"c": {"Allocatable": 1, "Requested": 0}}},
            "event 0: status of c",
        ),
        ({"update_class": CLASS, "rejected": True}, "event 0: rejected: expected true, found false"),
        ({"update_class": NIC_CLASS, "rejected": False}, "event 0: rejected: expected false, found true"),
        ({"add_pod": {"name": "r", "requests": {"x": 1}}, "unschedulable": False}, "event 0: unschedulable"),
    ],
)
def test_a_wrong_answer_after_an_event_is_told(judged, event, told):
    assert told in judged(
        {"name": "e", "devices": [GPU], "classes": [CLASS], "events": [event], "expect": {}}
    )


@pytest.mark.parametrize(
    "event",
    [
        {"add_node": "m", "devices": [{"name": "h", "quantity": 2, "properties": {"Kind": "gpu"}}]},
        {"add_node": {"name": "m", "devices": [{"name": "h", "quantity": 2, "properties": {"Kind": "gpu"}}]}},
    ],
    ids=["beside", "inside"],
)
def test_the_devices_of_a_node_stand_beside_its_name_or_with_it(judged, event):
    expect = {"expect_status": {"c": {"Allocatable": 3, "Requested": 0}}}

    case = {"name": "e", "devices": [GPU], "classes": [CLASS], "events": [event | expect], "expect": {}}

    assert judged(case) == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"devices": [{"name": "g"}]}, "case case: devices[0].node: is required"),
        ({"classes": [{"name": "c", "selector": []}]}, "classes[0].selector: unknown field"),
        ({"pods": [{"name": "p"}]}, "case case: pods[0].requests: is required"),
        ({"events": [{"grow": 1}]}, "case case: events[0]: ['grow']: must have exactly one of add_class"),
        ({"devices": 5}, "case case: devices: 5: must be a list"),
        ({"expect": {"selected": {"c": [1]}}}, "case case: expect.selected.c[0]: 1: must be a string"),
        ({"expect": {"status": "x"}}, "case case: expect.status: 'x': must be an object"),
        (
            {"events": [{"remove_node": "n", "expect_status": 1}]},
            "events[0].expect_status: 1: must be an obj",
        ),
    ],
)
def test_a_case_that_says_nonsense_is_told_by_its_place(judged, change, told):
    assert told in judged(CASE | change)
