"""The cases of resource classes; a case that the proposal leaves open is answered as the records decide."""

from pathlib import Path

import pytest

from tangram.conformance import Verdict, judge_file
from tangram.conformance.decisions import Decisions

FILES = sorted((Path(__file__).parent / "data").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("policy", ["first-fit", "best-fit"])
def test_every_case_is_answered_as_it_expects(path, policy):
    report = judge_file(path, policy, Decisions())

    assert [case for case in report.cases if case.verdict is not Verdict.PASSED] == []
