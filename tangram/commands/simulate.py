"""``tangram simulate``: replays a trace of claims under the policies: who waits, and what is in use."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Final

from scheduler_core.planning.kinds import kinds_of
from tangram.errors import BadInput
from tangram.face import DONE, UNDECIDED, Face, Subparsers, add_command
from tangram.planning.chart import chart
from tangram.planning.collector import paused
from tangram.planning.mixes import add_mix, check_mix, mix_trace
from tangram.planning.reading import KEYS, Known, add_known, read_claims, read_known
from tangram.planning.side_by_side import run_all
from tangram.planning.simulated import Scenario, simulate
from tangram.planning.simulation_picture import simulation_picture, simulation_value
from tangram.planning.traces.reading import read_trace
from tangram.planning.traces.trace import Trace, Vocabulary
from tangram.policies import POLICIES
from tangram.program.progress import simulating
from tangram.summaries import SUMMARIES

_EXAMPLE: Final = """tangram simulate --add 4=dgx-a100 --trace docs/plan-ahead/trace.csv
  tangram simulate --add 10=dgx-a100 --mix mid --load 0.9 --patience 0 --svg mid.svg
  tangram simulate --cluster --trace decisions.jsonl

exit status:
  0  the trace was replayed
  2  wrong input
  3  the API server cannot be reached
  4  the trace was replayed, but the search stopped at its bound for some arrivals, which got no devices
     at that moment"""


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(parsers, "simulate", SUMMARIES["simulate"], _EXAMPLE, _run)
    add_known(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="CSV or JSON lines with arrival, duration and what is asked for; the decision log of the "
        "controller; openb_pod_list of Alibaba's GPU trace of 2023; - for standard input",
    )
    parser.add_argument(
        "--claim",
        action="append",
        metavar="FILE",
        dest="claims",
        help="claims that the trace names; may be repeated",
    )
    add_mix(parser)
    parser.add_argument(
        "--policy",
        choices=tuple(POLICIES),
        action="append",
        help="simulate this policy; may be repeated; default: both",
    )
    parser.add_argument(
        "--patience",
        type=_patience,
        default=inf,
        metavar="SECONDS",
        help="how long claims wait in line before they give up, 0: not at all; default: for ever",
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a chart over time as SVG")


def _patience(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if isfinite(found) and found >= 0:
        return found
    raise ArgumentTypeError(f"{text!r}: must be seconds, at least 0")


def _run(options: Namespace, face: Face) -> int:
    if (options.trace is None) == (options.mix is None):
        raise BadInput("simulate: say what arrives: --trace FILE, or --mix NAME")
    check_mix(options)
    with paused():
        known = read_known(options, face)
        trace = _trace(options, known)
    scenario = Scenario(cluster=known.cluster, nodes=known.nodes, trace=trace, patience_s=options.patience)
    wanted = [name for name in POLICIES if name in (options.policy or POLICIES)]
    jobs = {name: partial(simulate, scenario, POLICIES[name]) for name in wanted}
    with simulating(wanted, len(trace.arrivals)) as follow:
        runs = run_all(jobs, follow)
    if options.svg is not None:
        title = f"{len(trace.arrivals):,} arrivals on {len(known.nodes)} nodes"
        options.svg.write_text(chart(runs, title), encoding="utf-8")
    if options.json:
        face.out.json(simulation_value(runs, trace, len(known.nodes)))
    else:
        face.out.show(simulation_picture(runs, trace, len(known.nodes)))
    return UNDECIDED if any(run.undecided for run in runs.values()) else DONE


def _trace(options: Namespace, known: Known) -> Trace:
    if options.mix is not None:
        return mix_trace(options, known)
    vocabulary = Vocabulary(
        kinds=kinds_of(known.cluster.pools, KEYS),
        classes=known.cluster.classes,
        claims=read_claims(options.claims) if options.claims else (),
        driver=known.driver,
    )
    return read_trace(options.trace, vocabulary)
