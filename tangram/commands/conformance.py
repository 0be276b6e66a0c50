"""``tangram conformance``: runs case files against this core and prints a verdict for each case."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tangram.conformance.case_files import case_paths
from tangram.conformance.decisions import read_decisions
from tangram.conformance.judge import FIRST_FIT, judge_file
from tangram.conformance.verdict import CaseReport, FileReport, Verdict, counts
from tangram.errors import BadInput
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.plain import plain
from tangram.policies import POLICIES
from tangram.summaries import SUMMARIES

FAILED: Final = 1
UNSUPPORTED: Final = 3

_SHOWN: Final = (Verdict.FAILED, Verdict.DECIDED)


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "conformance",
        SUMMARIES["conformance"],
        "tangram conformance tests/scheduler_core/cases",
        _run,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a case file, or a folder of them")
    parser.add_argument(
        "--policy",
        choices=list(POLICIES),
        default=FIRST_FIT,
        help="first-fit must give the expected devices; best-fit any valid ones (default: %(default)s)",
    )
    parser.add_argument(
        "--answers", metavar="FILE", help="write one JSON line per case: file, name, answer, verdict"
    )


def _run(options: Namespace, face: Face) -> int:
    decisions = read_decisions()
    reports = [judge_file(path, options.policy, decisions) for path in case_paths(options.paths)]
    if options.answers is not None:
        _write_answers(Path(options.answers), reports)
    if options.json:
        face.out.json(_plain(reports))
    else:
        face.out.text("\n".join(_lines(reports)))
    return _status([case for report in reports for case in report.cases])


def _status(cases: Sequence[CaseReport]) -> int:
    verdicts = {case.verdict for case in cases}
    if Verdict.FAILED in verdicts:
        return FAILED
    return UNSUPPORTED if Verdict.UNSUPPORTED in verdicts else DONE


def _lines(reports: Sequence[FileReport]) -> Iterator[str]:
    for report in reports:
        yield f"{report.file}: {_score(report.cases)}"
        for case in report.cases:
            if case.verdict in _SHOWN:
                yield f"  {case.verdict}: {case.name}: {case.detail}"
    everything = [case for report in reports for case in report.cases]
    yield f"total: {_score(everything)}"


def _score(cases: Sequence[CaseReport]) -> str:
    """Return ``98/112, 14 unsupported``: what passed of all, and the rest that did not fail."""
    found = counts(cases)
    rest = [f"{found[one]} {one}" for one in Verdict if one is not Verdict.PASSED and found[one]]
    return ", ".join([f"{found[Verdict.PASSED]}/{len(cases)}", *rest])


def _plain(reports: Sequence[FileReport]) -> dict[str, Any]:
    everything = [case for report in reports for case in report.cases]
    return {
        "total": len(everything),
        **plain(counts(everything)),
        "files": [
            {
                "file": report.file,
                "total": len(report.cases),
                **plain(report.counts),
                "cases": [
                    {"name": case.name, "verdict": case.verdict, "detail": case.detail}
                    for case in report.cases
                    if case.verdict is not Verdict.PASSED
                ],
            }
            for report in reports
        ],
    }


def _write_answers(path: Path, reports: Sequence[FileReport]) -> None:
    lines = [
        json.dumps(
            {
                "file": case.file,
                "name": case.name,
                "answer": plain(case.answer),
                "verdict": case.verdict.value,
                "detail": case.detail,
            }
        )
        for report in reports
        for case in report.cases
    ]
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"--answers {path}: cannot be written: {error.strerror or error}") from error
