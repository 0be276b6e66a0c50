"""``tangram conformance``: what each mark of a case comes to, and how the totals are told."""

from __future__ import annotations

import json

import pytest
from conformance_cases import CASES, RIGHT, WRONG, given, selector, stored, table

from tangram.conformance import Verdict, judge_file
from tangram.conformance.decisions import read_decisions


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
