"""What expressions mean: our own table, and answers that were read off the Go implementation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.base.errors import SelectorError
from scheduler_core.cel import tree
from scheduler_core.cel.library.registry import BY_NAME
from scheduler_core.cel.measured import evaluated, measured_cost
from scheduler_core.cel.parse.frontend import check
from scheduler_core.rules.selectors import DeviceView, Expression, Selector
from tangram.conformance.decisions import Decisions
from tangram.conformance.judge import FIRST_FIT, judge_file
from tangram.conformance.verdict import Verdict

DATA = Path(__file__).parent / "data"
ORDERED_BY_A_GO_MAP = "device-32"
NOTHING = DeviceView("")
LIBRARIES = ("cel-library.json", "answers.json", "absorbed.json")


def read(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def wanted(expect: Any) -> bool | str:
    if not isinstance(expect, Mapping):
        return expect
    ((kind, value),) = expect.items()
    return value if kind == "match" else kind


def upstream_cases() -> Iterator[Any]:
    for case in read("cel.json"):
        yield pytest.param(case, case["device"], id=f"cel.json:{case['name']}")
    library = read("cel-library.json")
    for case in library["cases"]:
        yield pytest.param(case, library["device"], id=f"cel-library.json:{case['name']}")


@pytest.mark.parametrize("case", read("selectors.json"), ids=lambda case: case["name"])
def test_a_selector_does_what_its_author_expects(case, gpu, outcome):
    answer = outcome(case["expression"], gpu)

    assert answer == case["expect"], case["expression"]


@pytest.mark.parametrize(("case", "device"), list(upstream_cases()))
def test_an_expression_means_what_it_means_upstream(case, device, read_device, outcome):
    view = read_device(device)

    answer = outcome(case["expression"], view)

    assert answer == wanted(case["expect"]), case["expression"]


def test_every_corner_of_the_library_answers_as_upstream(read_device, outcome):
    answers = read("answers.json")
    view = read_device(answers["device"])

    different = [
        (case["expression"], case["expect"], answer)
        for case in answers["cases"]
        if (answer := outcome(case["expression"], view)) != case["expect"]
    ]

    assert different == []


def test_an_error_that_something_absorbs_does_not_change_the_answer(read_device, outcome):
    absorbed = read("absorbed.json")
    view = read_device(absorbed["device"])

    different = [
        case["expression"]
        for case in absorbed["cases"]
        if outcome(case["expression"], view) != case["expect"]
    ]

    assert different == []


@pytest.mark.parametrize("name", ["cel-values.json", "keys-and-zones.json"])
def test_the_value_of_an_expression_is_the_one_in_kubernetes_environment(name):
    report = judge_file(DATA / name, FIRST_FIT, Decisions())

    assert [case for case in report.cases if case.verdict is not Verdict.PASSED] == []
    assert len(report.cases) >= 1000


@pytest.mark.parametrize("name", ["cel-values.json", "keys-and-zones.json"])
def test_the_evaluator_that_counts_the_cost_gives_the_same_value(name):
    different = []
    for case in read(name):
        try:
            value = Expression(case["expression"]).value(NOTHING)
        except SelectorError:
            continue
        if str(evaluated(case["expression"], NOTHING)[0]) != str(value):
            different.append(case["expression"])

    assert different == []


def test_every_function_is_asked_for_at_least_once():
    asked = {
        call.function
        for name in LIBRARIES
        for case in read(name)["cases"]
        if isinstance(wanted(case["expect"]), bool)
        for call in calls_in(check(case["expression"]))
    }

    assert BY_NAME.keys() - asked == set()


def calls_in(node: tree.Node) -> Iterator[tree.Call]:
    if isinstance(node, tree.Call):
        yield node
    for child in tree.children(node):
        yield from calls_in(child)


def test_the_estimate_is_the_one_by_which_the_api_server_admits():
    cases = [case for name in LIBRARIES for case in read(name)["cases"] if case.get("maxCost") is not None]
    cases += [case | {"maxCost": case["upstreamCost"]} for case in read("cel.json")]

    different = [
        (case["expression"], case["maxCost"], found)
        for case in cases
        if wanted(case["expect"]) != "compileError"
        and (found := Selector(case["expression"]).max_cost) != case["maxCost"]
    ]

    assert len(cases) > 2000
    assert different == []


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_evaluation_costs_what_it_costs_upstream(name, read_device):
    library = read(name)
    view = read_device(library["device"])

    different = [
        (case["expression"], case["cost"], found)
        for case in library["cases"]
        if isinstance(wanted(case["expect"]), bool)
        and "cost" in case
        and case.get("name") != ORDERED_BY_A_GO_MAP
        and (found := measured_cost(case["expression"], view)) != case["cost"]
    ]

    assert different == []
