"""``tangram conformance`` under best fit: other devices are right too, a worse answer or none is not."""

from __future__ import annotations

from conformance_cases import CASES, OTHER_RESULTS, RESULTS, given, stored, table


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
