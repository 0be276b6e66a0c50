"""Judges the cases of a file with a policy: a verdict per case.

An unexpected error in one case fails that case only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scheduler_core.base.errors import CoreError
from tangram.conformance.allocations import Feasible, Listed
from tangram.conformance.answering import answer_of, feasible_nodes
from tangram.conformance.case_files import Case, read_cases
from tangram.conformance.class_cases import counted
from tangram.conformance.class_claims import with_device_classes
from tangram.conformance.decisions import Decisions
from tangram.conformance.expressions import evaluated, valued
from tangram.conformance.form import check_form
from tangram.conformance.kinds import Kind, Unsupported, kind_of
from tangram.conformance.marked import grown, marked_answer
from tangram.conformance.named import Named
from tangram.conformance.pod_cases import placed
from tangram.conformance.runs import Run
from tangram.conformance.situation import read_situation
from tangram.conformance.steps import allocatable, steps
from tangram.conformance.unit_cases import applied
from tangram.conformance.verdict import CaseReport, FileReport, Verdict
from tangram.errors import BadInput
from tangram.policies import POLICIES

FIRST_FIT = "first-fit"
_ONLY_FIRST = "first"  # what case files call that policy


def judge_file(path: Path, policy: str, decisions: Decisions) -> FileReport:
    """Judge the cases of a file, in order.

    Raises: BadInput for a file that cannot be read as cases.
    """
    return FileReport(str(path), tuple(_report(path, case, policy, decisions) for case in read_cases(path)))


def _report(path: Path, case: Case, policy: str, decisions: Decisions) -> CaseReport:
    kind = kind_of(case.content)
    try:
        match kind:
            case Unsupported(needs=needs):
                verdict, detail, answer = Verdict.UNSUPPORTED, f"needs {needs}", None
            case None:
                keys = ", ".join(sorted(case.content))
                verdict, detail, answer = Verdict.FAILED, f"no kind of case has the keys {keys}", None
            case Kind():
                check_form(case.content, case.name, kind)
                verdict, detail, answer = _judged(case, kind, policy, decisions)
    except (BadInput, CoreError) as error:
        verdict, detail, answer = Verdict.FAILED, str(error), None
    except Exception as error:  # noqa: BLE001 - a case that breaks the core is a failed case
        verdict, detail, answer = Verdict.FAILED, f"raised {type(error).__name__}: {error}", None
    return CaseReport(str(path), case.name, verdict, " ".join(detail.split()), answer)


def _judged(case: Case, kind: Kind, policy: str, decisions: Decisions) -> tuple[Verdict, str, Any]:
    content, mark = with_device_classes(case.content), case.content.get("agrees_with_seed")
    if mark is False and "seed_accept" not in content:
        return Verdict.SKIPPED, "what the mission asks for instead is not said", None
    expect = content["kubernetes" if kind is Kind.VALUE else "expect"]
    if isinstance(expect, Mapping) and expect.get("policy") == _ONLY_FIRST and policy != FIRST_FIT:
        return Verdict.SKIPPED, f"asks for policy {FIRST_FIT} only", None
    run = _run(content, kind, policy)
    detail = _difference(run, content, expect)
    if not detail:
        return Verdict.PASSED, "", run.answer
    decided = decisions.of(case.theme) if mark == "unclear" else None
    if decided is not None:
        return Verdict.DECIDED, f"by {decided}: {detail}", run.answer
    return Verdict.FAILED, detail, run.answer


def _difference(run: Run, content: Mapping[str, Any], expect: Any) -> str:
    """Return how the answer is wrong, the empty string where it is right."""
    if content.get("agrees_with_seed") is False:
        return "; ".join(run.lacks(content["seed_accept"]))
    differences = "; ".join(run.differences(expect))
    if differences and "accept" in content and not list(run.lacks(content["accept"])):
        return ""
    return differences


def _run(content: Mapping[str, Any], kind: Kind, policy: str) -> Run:
    is_exact = policy == FIRST_FIT
    match kind:
        case Kind.SELECTOR:
            return evaluated(content)
        case Kind.VALUE:
            return valued(content["expression"])
        case Kind.NAMED:
            return _named(content, policy)
        case Kind.POD:
            return placed(content)
        case Kind.CLASSES:
            return counted(content)
        case Kind.RULE:
            return applied(content["kind"], content["input"])
        case Kind.LISTED | Kind.FEASIBLE:
            form = Listed if kind is Kind.LISTED else Feasible
            try:
                situation = read_situation(content, by_name=False)
            except CoreError as error:
                return form(read_situation({}, by_name=False), error, is_exact)
            return form(situation, answer_of(situation, POLICIES[policy]), is_exact)


def _named(content: Mapping[str, Any], policy: str) -> Named:
    expect, situation = content["expect"], read_situation(content, by_name=True)
    extra: dict[str, Any] = {}
    if "allocatable" in expect:
        extra["allocatable"] = allocatable(situation.cluster)
    if "steps" in expect:
        extra["steps"] = steps(situation.cluster, expect["steps"])
    if "feasibleNodes" in expect:
        extra["feasibleNodes"] = feasible_nodes(situation, POLICIES[policy])
    answered = None
    if situation.claims:
        answered = marked_answer(content, situation, POLICIES[policy]) or answer_of(
            situation, POLICIES[policy]
        )
        situation = grown(situation, answered, content)
    return Named(situation=situation, answered=answered, extra=extra, is_exact=policy == FIRST_FIT)
