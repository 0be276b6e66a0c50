"""``tangram conformance``: what each mark of a case comes to, and how the totals are told."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tangram.conformance import Verdict, judge_file
from tangram.conformance.decisions import read_decisions

CASES = Path(__file__).parents[1] / "core" / "cases"


def selector(name: str, text: str, **expect: Any) -> dict[str, Any]:
    device = {
        "driver": "d.example.com",
        "attributes": {"kind": {"string": "whole"}, "sizes": {"ints": [1, 2]}},
    }
    return {"name": name, "expression": text, "device": device, "expect": expect}


RIGHT = selector("right", "device.driver == 'd.example.com'", match=True)
WRONG = selector("wrong", "device.driver == 'd.example.com'", match=False)


@pytest.fixture
def case_file(written) -> Callable[[str, Any], Path]:
    """Write cases to a file."""
    return lambda name, content: written(name, json.dumps(content))


def stored(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return content


def table(expect: dict[str, Any], *, count: int = 1, **more: Any) -> dict[str, Any]:
    """A case as Kubernetes' own table has it: two devices, one of them in use."""
    devices = [{"name": name} for name in ("one", "two", "three")]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count}
    return {
        "name": "table",
        "features": [],
        "node": {"metadata": {"name": "n"}},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": [
            {
                "metadata": {"name": "s"},
                "spec": {"driver": "d.example.com", "pool": pool, "nodeName": "n", "devices": devices},
            }
        ],
        "allocated": [{"driver": "d.example.com", "pool": "p", "device": "one"}],
        "claims": [
            {
                "metadata": {"name": "c"},
                "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
            }
        ],
        "expect": expect,
        **more,
    }


def given(device: str) -> dict[str, str]:
    return {"request": "r", "driver": "d.example.com", "pool": "p", "device": device}


SELECTOR_OF_N = {
    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]
}


def test_every_case_of_the_core_passes(tangram):
    answer = tangram("conformance", CASES, "--json")

    assert answer.status == 0
    assert answer.json["passed"] == answer.json["total"] == len(list(CASES.glob("*.json")))


def test_a_case_with_a_wrong_expectation_fails_by_name_with_the_difference_in_one_line(tangram, case_file):
    case = stored("pool-order")
    case["expect"]["allocation"]["claim"]["results"][0]["device"] = "z"
    path = case_file("corrupt.json", case)

    answer = tangram("conformance", path, CASES / "pool-order.json")

    assert answer.status == 1
    assert answer.out.splitlines()[0] == f"{path}: 0/1, 1 failed"
    (line,) = [line for line in answer.out.splitlines() if "failed: pool-order:" in line]
    assert '"device": "z"' in line
    assert '"device": "y"' in line
    assert answer.out.splitlines()[-1] == "total: 1/2, 1 failed"


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


RESULTS = {"results": [{"devices": {"results": [given("two")]}, "nodeSelector": SELECTOR_OF_N}]}
OTHER_RESULTS = {"results": [{"devices": {"results": [given("three")]}, "nodeSelector": SELECTOR_OF_N}]}
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


UNSUPPORTED = selector("no lists", "true", match=True) | {"listTypeAttributes": False}


def test_a_case_whose_front_end_is_not_here_is_unsupported_and_ends_with_status_3(tangram, case_file):
    answer = tangram("conformance", case_file("any-name.json", [UNSUPPORTED, RIGHT]))

    assert answer.status == 3
    assert answer.out.splitlines()[-1] == "total: 1/2, 1 unsupported"


def test_a_failure_weighs_more_than_an_unsupported_case(tangram, case_file):
    assert tangram("conformance", case_file("c.json", [UNSUPPORTED, WRONG])).status == 1


def test_a_case_that_contradicts_the_mission_is_skipped_unless_it_says_what_is_asked_instead(
    tangram, case_file
):
    skipped = WRONG | {"agrees_with_seed": False}
    asked = WRONG | {"agrees_with_seed": False, "seed_accept": {"any_of": [{"match": True}]}}
    broken = WRONG | {"agrees_with_seed": False, "seed_accept": {"any_of": [{"match": False}]}}

    answer = tangram("conformance", case_file("c.json", [skipped, asked, broken]), "--json")

    verdicts = {key: answer.json[key] for key in ("passed", "failed", "skipped")}
    assert verdicts == {"passed": 1, "failed": 1, "skipped": 1}


def test_an_open_case_passes_by_what_it_accepts_too(tangram, case_file):
    accepted = WRONG | {"agrees_with_seed": "unclear", "accept": {"any_of": [{"match": True}]}}
    other = WRONG | {"agrees_with_seed": "unclear", "accept": {"any_of": [{"match": False}]}}

    answer = tangram("conformance", case_file("no-record-names-this.json", [accepted, other]), "--json")

    assert (answer.json["passed"], answer.json["failed"]) == (1, 1)


def test_an_open_case_is_decided_where_a_record_names_its_theme(case_file, written, tmp_path):
    path = case_file("odd-sizes.json", [WRONG | {"agrees_with_seed": "unclear"}, WRONG])
    written("0001-sizes.md", "# 0001 Sizes\n\nDecides `odd-sizes`: the larger one.")

    report = judge_file(path, "first-fit", read_decisions(tmp_path))

    assert [case.verdict for case in report.cases] == [Verdict.DECIDED, Verdict.FAILED]
    assert report.cases[0].detail.startswith("by 0001-sizes.md: match: expected false")


def test_a_case_of_unknown_keys_fails(tangram, case_file):
    answer = tangram("conformance", case_file("c.json", {"name": "strange", "weather": "fine"}))

    assert answer.status == 1
    assert "strange: no kind of case has the keys name, weather" in answer.out


def test_a_case_of_a_wrong_form_fails_by_its_place_and_the_others_are_judged(tangram, case_file):
    broken = table({"unschedulable": True}) | {"name": "broken", "slices": [1]}

    answer = tangram("conformance", case_file("c.json", [broken, RIGHT]))

    assert answer.status == 1
    assert "failed: broken: case broken: slices[0]: 1: must be an object" in answer.out
    assert "total: 1/2, 1 failed" in answer.out


@pytest.mark.parametrize("text", ["{", "[]", "[1]", "\x00"])
def test_a_file_that_holds_no_cases_is_wrong_input(tangram, written, text):
    path = written("bad.json", text)

    answer = tangram("conformance", path)

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"tangram: {path}")


def test_a_path_without_cases_is_wrong_input(tangram, tmp_path):
    assert tangram("conformance", tmp_path / "nothing").status == 2
    assert tangram("conformance", tmp_path).status == 2


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


def test_answers_are_written_one_line_per_case_in_the_cases_own_form(tangram, case_file, tmp_path):
    lists = case_file("table.json", [table({"feasible": True, "firstFit": [[given("two")]]})])
    answers = tmp_path / "answers.jsonl"

    tangram(
        "conformance",
        CASES / "pool-order.json",
        lists,
        case_file("cel.json", [RIGHT, WRONG]),
        "--answers",
        answers,
    )

    lines = [json.loads(line) for line in answers.read_text().splitlines()]
    assert [(line["name"], line["verdict"]) for line in lines] == [
        ("pool-order", "passed"),
        ("table", "passed"),
        ("right", "passed"),
        ("wrong", "failed"),
    ]
    assert lines[0]["answer"]["allocation"] == stored("pool-order")["expect"]["allocation"]
    assert lines[1]["answer"] == {"feasible": True, "firstFit": [[given("two")]]}
    assert lines[2]["answer"] == {"match": True}
    assert lines[0]["file"] == str(CASES / "pool-order.json")


def test_every_case_of_the_core_passes_under_best_fit_but_those_for_first_fit_only(tangram):
    answer = tangram("conformance", CASES, "--policy", "best-fit", "--json")

    assert answer.status == 0
    assert answer.json["passed"] == answer.json["total"] - 1
    assert answer.json["skipped"] == 1  # pool-order asks for the policy "first"


def test_best_fit_may_give_other_devices_but_only_where_there_is_an_answer(tangram, case_file):
    cases = [
        table(OTHER_RESULTS) | {"name": "other devices"},
        table({"feasible": True, "firstFit": [[given("three")]]}) | {"name": "other first"},
        table({"feasible": False}) | {"name": "there is one"},
        table(RESULTS, count=3) | {"name": "there is none"},
    ]

    answer = tangram("conformance", case_file("c.json", cases), "--policy", "best-fit")

    assert answer.out.splitlines()[-1] == "total: 2/4, 2 failed"
    assert "failed: there is one: " in answer.out
    assert "failed: there is none: " in answer.out


def test_best_fit_may_reach_an_earlier_alternative(tangram, case_file):
    case = stored("first-available-preferred")
    assert case["expect"]["allocation"]["claim"]["results"][0]["request"] == "r/big"
    case["expect"]["allocation"]["claim"]["results"][0]["request"] = "r/small"

    answer = tangram("conformance", case_file("c.json", case), "--policy", "best-fit")

    assert answer.status == 0


def test_best_fit_may_not_take_a_later_alternative(tangram, case_file):
    case = stored("first-available-fallback")
    assert case["expect"]["allocation"]["claim"]["results"][0]["request"] == "r/small"
    case["expect"]["allocation"]["claim"]["results"][0]["request"] = "r/big"

    answer = tangram("conformance", case_file("c.json", case), "--policy", "best-fit")

    assert answer.status == 1
    assert "alternatives: expected rank [0] or better, found [1]" in answer.out
