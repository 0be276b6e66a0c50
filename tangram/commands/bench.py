"""``tangram bench``: how fast the core answers, on its own benchmarks or on claims from a file."""

from __future__ import annotations

import gc
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from scheduler_core.base.errors import InvalidClaim, InvalidClass, InvalidInput, InvalidSlice
from tangram.bench.answer import LIMIT_S, Answer, answer
from tangram.bench.catalogue import ALL, BENCHMARKS, QUICK, Order, chosen, run
from tangram.bench.cluster_command import (
    add_options,
    measured,
    measured_controller,
    measured_many,
    measured_refusals,
)
from tangram.bench.cluster_run import NAME as CLUSTER
from tangram.bench.controller.many import NAME as MANY
from tangram.bench.controller.refusals import NAME as REFUSALS
from tangram.bench.controller.run import NAME as CONTROLLER
from tangram.bench.pictures import answer_line, report_table
from tangram.bench.question import decode_question
from tangram.bench.reading import read_inputs
from tangram.bench.report import Report
from tangram.errors import BadInput, bad_argument
from tangram.face import DOES_NOT_FIT, DONE, Face, Subparsers, add_command
from tangram.plain import plain
from tangram.policies import POLICIES
from tangram.program.streams import complain
from tangram.summaries import SUMMARIES

_LONGEST_S: Final = 86_400
_IN_CLUSTER: Final = {
    CLUSTER: measured,
    CONTROLLER: measured_controller,
    REFUSALS: measured_refusals,
    MANY: measured_many,
}


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "bench",
        SUMMARIES["bench"],
        "tangram bench B1 B3\n  tangram bench --input claims.json --json",
        _run,
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(BENCHMARKS)}, or {ALL}; default: {', '.join(QUICK)}, under a minute; or "
        f"{CLUSTER}: a cluster with Tangram, some minutes; or {CONTROLLER}, {REFUSALS} or {MANY}: the "
        "controller beside kube-scheduler, minutes",
    )
    parser.add_argument(
        "--input",
        metavar="FILE",
        help="time the claims of this file instead: a JSON object, or one per line; - for standard input",
    )
    parser.add_argument(
        "--policy",
        choices=POLICIES,
        default="first-fit",
        help="how the core chooses; B9 compares both (default: %(default)s)",
    )
    parser.add_argument(
        "--count",
        type=_whole,
        metavar="N",
        help="claims of B4, arrivals of B9, instances of B10, calls of B13 and B17, members of B14, pods of "
        f"B15, VFs of B16; pods of {', '.join(_IN_CLUSTER)}",
    )
    parser.add_argument("--nodes", type=_whole, metavar="N", help="nodes of B2, B4, B6, B9, B12, B14 and B15")
    add_options(parser)
    parser.add_argument(
        "--limit", type=_seconds, metavar="SECONDS", help=f"with --input: cut one off after ({LIMIT_S:.0f})"
    )


def _whole(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise ArgumentTypeError(f"{text!r}: must be a whole number of at least 1")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if isfinite(value) and 0 < value <= _LONGEST_S:
        return value
    raise ArgumentTypeError(f"{text!r}: must be seconds, above 0 and at most {_LONGEST_S}")


def _run(options: Namespace, face: Face) -> int:
    if options.input is not None:
        return _answer_inputs(options, face)
    if options.limit is not None:
        raise BadInput("--limit: needs --input: benchmarks have their own limits")
    if len(options.names) == 1 and options.names[0] in _IN_CLUSTER:
        return _show_cluster(_IN_CLUSTER[options.names[0]](options, face), options, face)
    _check(options)
    order = Order(
        machines=face.machines, policy=POLICIES[options.policy], nodes=options.nodes, count=options.count
    )
    reports = []
    for name in chosen(options.names):
        reports.append(run(name, order))
        if not options.json:
            face.out.show(report_table(reports[-1]))
    if options.json:
        face.out.json({"benchmarks": [_as_json(report) for report in reports]})
    for report in reports:
        for sentence in report.wrong:
            complain(f"wrong answer: {report.name}: {sentence}")
    return DOES_NOT_FIT if any(report.wrong for report in reports) else DONE


def _check(options: Namespace) -> None:
    """Refuse what is no benchmark of the core. Raises: BadInput."""
    for option in ("kubeconfig", "context", "beside", "check"):
        if getattr(options, option):
            raise BadInput(f"--{option}: belongs to {', '.join(_IN_CLUSTER)}")
    for name in options.names:
        if name != ALL and name not in BENCHMARKS:
            known = f"{ALL} or one of {', '.join(BENCHMARKS)}; {', '.join(_IN_CLUSTER)} stand alone"
            raise bad_argument("NAME", name, f"must be {known}")


def _show_cluster(report: Report, options: Namespace, face: Face) -> int:
    if options.json:
        face.out.json({"benchmarks": [_as_json(report)]})
    else:
        face.out.show(report_table(report))
    is_missed = any(row.is_met is False for row in report.rows)
    return DOES_NOT_FIT if options.check and is_missed else DONE


def _as_json(report: Report) -> dict[str, Any]:
    shown: dict[str, Any] = plain(report)
    for row, entry in zip(report.rows, shown["rows"], strict=True):
        entry["isMet"] = row.is_met
    return shown


def _answer_inputs(options: Namespace, face: Face) -> int:
    given = {"NAME": options.names, "--count": options.count, "--nodes": options.nodes}
    for option, value in given.items():
        if value:
            raise BadInput(f"{option}: cannot be combined with --input: the questions are in the file")
    gc.freeze()  # garbage is collected before each cold run: objects of the imports are excluded
    refused: InvalidInput | None = None
    for place, asked in read_inputs(options.input):
        found, nodes, mistake = _answered(place, asked, options)
        refused = refused or mistake
        if options.json:
            face.out.json_line(found.as_json())
        else:
            face.out.text(answer_line(place, found, nodes))
        sys.stdout.flush()
    if refused is not None:
        raise refused
    return DONE


def _answered(
    place: str, asked: Mapping[str, Any], options: Namespace
) -> tuple[Answer, int, InvalidInput | None]:
    """Return the answer, how many nodes were asked, and the mistake in an object where there is one.

    An object that the core refuses spoils its own input only: the answer says so, and the next one is read.
    """
    try:
        question = decode_question(asked, place)
    except (InvalidSlice, InvalidClaim, InvalidClass) as refused:
        return Answer(error=str(refused)), 0, refused
    return answer(question, POLICIES[options.policy], options.limit or LIMIT_S), len(question.nodes), None
