"""``tangram conformance``: every form of a case is known by its keys, and every part of it is looked at."""

from __future__ import annotations

import copy

import pytest
from conformance_cases import OTHER_RESULTS, RESULTS, RIGHT, given, selector, stored, table


@pytest.mark.parametrize(
    ("name", "corrupt"),
    [
        ("nest-empty", {"allocatable": ["gpu"]}),
        ("mig-two-4g-impossible", {"unschedulable": "NoMatchingDevice"}),
        ("node-multihost-2x4", {"feasibleNodes": ["node-1"]}),
        ("node-multihost-2x4", {"node": "node-2"}),
        ("node-multihost-2x4", {"nodeSelector": None}),
        ("mig-seed-claim", {"accept": [{"kind": "count", "request": "mig-3g-20gb", "n": 2}]}),
        ("mig-seed-claim", {"accept": [{"kind": "unheardOf"}]}),
        ("cap-four-quarters", {"allocation": None, "unschedulable": "Insufficient"}),
    ],
)
def test_every_part_of_an_expectation_is_looked_at(tangram, case_file, name, corrupt):
    case = stored(name)
    case["expect"] |= corrupt

    answer = tangram("conformance", case_file("corrupt.json", case))

    assert answer.status == 1
    assert f"failed: {name}: " in answer.out


FEASIBLE = {"feasible": True, "firstFit": [[given("two")]]}
NO_DEVICES = {"error": "number of requested devices 33 exceeds the claim limit of 32"}


@pytest.mark.parametrize(
    ("count", "right", "wrong"),
    [
        (1, RESULTS, OTHER_RESULTS),
        (3, {"unschedulable": True}, RESULTS),
        (33, NO_DEVICES, RESULTS),
        (1, FEASIBLE, {"feasible": False}),
        (1, FEASIBLE, {"feasible": True, "firstFit": [[given("three")]]}),
        (3, {"feasible": False}, FEASIBLE),
    ],
    ids=["results", "unschedulable", "error", "feasible", "first fit", "infeasible"],
)
def test_the_forms_of_kubernetes_own_cases_are_known_by_their_keys(tangram, case_file, count, right, wrong):
    cases = [table(right, count=count), table(wrong, count=count) | {"name": "wrong"}]

    answer = tangram("conformance", case_file("table.json", cases))

    assert answer.out.splitlines()[-1] == "total: 1/2, 1 failed"
    assert "failed: wrong: " in answer.out


def test_an_error_of_another_class_is_not_the_expected_one(tangram, case_file):
    case = table({"error": "CEL compile error: compilation failed"}, count=33)

    answer = tangram("conformance", case_file("table.json", [case]))

    assert answer.status == 1


def test_expressions_are_judged_by_the_kind_of_their_answer_and_by_their_cost(tangram, case_file):
    cases = [
        selector("match", "device.driver != 'other'", match=True) | {"maxCost": 3, "cost": 3},
        selector("compile", "device.nothing", compileError="whatever upstream says"),
        selector("runtime", "device.attributes['d.example.com'].none == 1", runtimeError="no such key: none"),
        selector("list", "2 in device.attributes['d.example.com'].sizes", match=True),
        selector("cost", "device.driver != 'other'", match=True) | {"maxCost": 4},
    ]

    answer = tangram("conformance", case_file("cel.json", cases), "--json")

    assert answer.status == 1
    ((failed,),) = [file["cases"] for file in answer.json["files"]]
    assert failed["name"] == "cost"
    assert failed["detail"] == "maxCost: expected 4, found 3"


def test_what_a_file_says_beside_its_cases_belongs_to_each_of_them(tangram, case_file):
    device = RIGHT["device"]
    cases = [{key: value for key, value in RIGHT.items() if key != "device"}]

    answer = tangram("conformance", case_file("library.json", {"device": device, "cases": cases}))

    assert answer.status == 0
    assert answer.out.splitlines()[-1] == "total: 1/1"


def test_steps_take_and_give_back_from_an_empty_state(tangram, case_file):
    everything = ["ci-a0", "ci-a1", "ci-b0", "ci-b1", "ci-c0", "ci-c1", "gi-a", "gi-b", "gi-c", "gpu"]
    case = stored("nest-empty")
    case["claims"] = []
    case["expect"] = {
        "steps": [
            {"allocate": ["gpu"], "allocatable": []},
            {"release": ["gpu"], "allocatable": everything},
            {"allocate": "gi-a", "allocatable": ["ci-b0", "ci-b1", "ci-c0", "ci-c1", "gi-b", "gi-c"]},
        ]
    }
    wrong = copy.deepcopy(case) | {"name": "wrong"}
    wrong["expect"]["steps"][1]["allocatable"] = ["gpu"]

    answer = tangram("conformance", case_file("steps.json", [case, wrong]))

    assert "total: 1/2, 1 failed" in answer.out
    assert "failed: wrong: steps[1]: " in answer.out
