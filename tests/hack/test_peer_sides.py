"""What the comparison makes of answers: who is asked how, and what counts as a difference."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from peer import FAMILIES, asked, devices_of, shown, verdict_on
from peer_sides import ours

from tangram.bench.objects import Place, claim, device_class, on_node, question, request, resource_slice

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


def test_our_side_is_one_process_that_answers_in_order():
    place = Place("plain.example.com", "node-1", 1, "node-1")
    slices = [resource_slice("slice-0", place, devices=[{"name": "d0"}, {"name": "d1"}])]
    classes = [device_class("plain", "true")]
    claims = [claim("c", [request("r", "plain", count=count)]) for count in (1, 2, 3)]
    asked = [question("q", slices, classes, [one]) | on_node("node-1") for one in claims]

    answers = list(ours(30)(asked))

    assert [answer["unschedulable"] for answer in answers] == [False, False, True]
    assert [len(answer["results"][0]["devices"]["results"]) for answer in answers[:2]] == [1, 2]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_random_questions_is_answered(family):
    question = next(asked(family, seed=1))

    (answer,) = ours(30)([question])

    assert answer["results"] or answer["unschedulable"]


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


def test_claims_that_do_not_fit_have_no_results_or_null_each():
    answers = [ANSWER | {"results": results, "unschedulable": True} for results in ([], [None, None])]

    assert devices_of(answers[0]) == devices_of(answers[1]) == "unschedulable"


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
