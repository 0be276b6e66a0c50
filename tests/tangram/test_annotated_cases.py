"""Pods and claims with annotations, as data: each case is a node, who uses it, and the devices that come out.

Where the proposals leave something open, a decision record may decide otherwise than a case expects.
"""

from pathlib import Path

import pytest

from tangram.conformance.decisions import read_decisions
from tangram.conformance.judge import judge_file
from tangram.conformance.verdict import Verdict

FILES = sorted((Path(__file__).parents[1] / "data" / "annotated").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_gets_a_right_answer(path):
    report = judge_file(path, "first-fit", read_decisions())

    wrong = [
        f"{case.name}: {case.verdict}: {case.detail}"
        for case in report.cases
        if case.verdict not in (Verdict.PASSED, Verdict.DECIDED)
    ]
    assert wrong == []
