"""What the comparison makes of answers: who is asked how, and what counts as a difference."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from peer import devices_of, shown, verdict_on
from peer_objects import Place, claim, device_class, on_node, question, request, resource_slice
from peer_sides import ours

CHECK = Path(__file__).parents[2] / "hack/upstream-allocator/check.py"
ANSWER = {
    "results": [],
    "unschedulable": False,
    "fits": ["node-1"],
    "nanoseconds": [1000],
    "cold_nanoseconds": 2000,
    "timed_out": False,
}


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check", CHECK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def two_devices():
    """A node with two equal devices, and no claim yet."""

    def asked(*claims, **more):
        place = Place("plain.example.com", "node-1", 1, "node-1")
        slices = [resource_slice("slice-0", place, devices=[{"name": "d0"}, {"name": "d1"}])]
        return question("two", slices, [device_class("plain", "true")], claims) | on_node("node-1") | more

    return asked


def chosen(answer):
    return [
        result and [one["device"] for one in result["devices"]["results"]] for result in answer["results"]
    ]


def test_claims_of_one_question_fit_together_or_not_at_all(two_devices):
    three = [claim(f"c{number}", [request("r", "plain")]) for number in range(3)]

    (fitting, refused) = ours(10)([two_devices(*three[:2]), two_devices(*three)])

    assert chosen(fitting) == [["d0"], ["d1"]]
    assert refused["unschedulable"]
    assert refused["fits"] == []


def test_in_a_sequence_each_allocation_is_kept_and_timed(two_devices):
    three = [claim(f"c{number}", [request("r", "plain")]) for number in range(3)]

    (answer,) = ours(10)([two_devices(sequence=three)])

    assert chosen(answer) == [["d0"], ["d1"], None]
    assert len(answer["nanoseconds"]) == 3
    assert answer["unschedulable"]


def test_nodes_that_fit_are_all_told_and_the_devices_are_those_of_the_first(two_devices):
    (answer,) = ours(10)([two_devices(claim("c", [request("r", "plain")]), nodes=["elsewhere", "node-1"])])

    assert answer["fits"] == ["node-1"]
    assert chosen(answer) == [["d0"]]


def test_wrong_input_is_an_error_and_no_end_of_the_comparison(two_devices):
    unknown, right = (two_devices(claim("c", [request("r", name)])) for name in ("no-such", "plain"))

    (first, second) = ours(10)([unknown, right])

    assert "no-such" in first["error"]
    assert chosen(second) == [["d0"]]


def result(*devices, node="node-1"):
    entries = [{"request": "r", "driver": "d", "pool": "p", "device": name} for name in devices]
    return {"devices": {"results": entries}, "nodeSelector": node}


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (result("a", "b"), True),
        (result("b", "a"), True),
        (result("a", "c"), False),
        (result("a", "b", node="node-2"), False),
    ],
)
def test_answers_are_the_same_when_devices_and_nodes_are_in_whatever_order(other, is_same):
    first, second = ANSWER | {"results": [result("a", "b")]}, ANSWER | {"results": [other]}

    assert (devices_of(first) == devices_of(second)) is is_same


@pytest.mark.parametrize(
    ("name", "their_ns", "our_ns", "verdict"),
    [
        ("B1", 25_000, 1000, ""),
        ("B1", 24_000, 1000, "must be 25 times faster"),
        ("B3-C", 2 * 10**9, 1_000_000, ""),
        ("B3-C", 2 * 10**9, 3_000_000, "must be 1000 times faster"),
        ("B3-C", 10**8, 3_000_000, ""),
        ("B3-C", 60 * 10**9, 11_000_000, "must be at most 10 ms"),
    ],
)
def test_the_verdict_says_which_bound_is_missed(name, their_ns, our_ns, verdict):
    their, our = ANSWER | {"nanoseconds": [their_ns]}, ANSWER | {"nanoseconds": [our_ns]}

    assert verdict_on(name, their, our, their_ns / our_ns) == verdict


def test_another_answer_is_a_miss_however_fast_it_comes():
    our = ANSWER | {"unschedulable": True, "fits": []}

    assert verdict_on("B1", ANSWER | {"nanoseconds": [10**6]}, our, 1000.0).startswith("answers differ")


def test_a_time_that_was_cut_off_is_shown_as_more_than_it():
    assert shown(ANSWER | {"nanoseconds": [60 * 10**9], "timed_out": True}, False) == "> 60 s"
    assert shown(ANSWER, True) == "2 µs"


def test_the_check_of_cases_looks_past_random_share_ids_and_the_order_of_devices(check):
    expected = [{"device": "a", "shareID": check.SHARE_ID}, {"device": "b"}]
    given = [{"device": "b"}, {"device": "a", "shareID": "0b1c"}]
    case = {"name": "shared", "expect": {"results": [{"devices": {"results": expected}}]}}
    answer = ANSWER | {"results": [{"devices": {"results": given}}]}

    assert list(check.differences([case], [answer])) == []
    assert len(list(check.differences([case], [ANSWER | {"unschedulable": True}]))) == 1
