"""Draws simulations as a table: the policies side by side, and what was refused by what it asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.model.claim import Claim
from tangram.plain import plain
from tangram.planning.simulated import Run
from tangram.planning.times import duration
from tangram.planning.traces.trace import Trace
from tangram.program.fitting import Column, FittingTable, Hanging

_SHOWN: Final = 10  # asks in the table of what was refused
_MOMENTS: Final = 6  # rows of the table over time
_ROWS: Final[Sequence[tuple[str, Callable[[Run], str]]]] = (
    ("got devices", lambda run: _part(run.placed, run.arrivals)),
    ("of these, after waiting", lambda run: str(run.late)),
    ("gave up", lambda run: _part(run.refused, run.arrivals)),
    ("never fitted", lambda run: str(run.never)),
    ("mean wait", lambda run: duration(run.wait_mean_s)),
    ("95 of 100 waited at most", lambda run: duration(run.wait_p95_s)),
    ("longest wait", lambda run: duration(run.wait_most_s)),
    ("GPUs in use, mean", lambda run: _percent(run.in_use)),
    ("fragmentation, mean", lambda run: _percent(run.fragmentation)),
)


def simulation_picture(runs: Mapping[str, Run], trace: Trace, nodes: int) -> RenderableType:
    """Show the policies side by side, then the course over time."""
    arrivals = trace.arrivals
    head = f"{len(arrivals):,} arrivals in {duration(arrivals[-1].at)} on {nodes} node{'s' * (nodes != 1)}"
    rows = [[name, *(figure(run) for run in runs.values())] for name, figure in _ROWS]
    if any(run.undecided for run in runs.values()):
        rows.append(["undecided questions", *(str(run.undecided) for run in runs.values())])
    parts: list[RenderableType] = [Text(head, style="bold"), _table("", runs, rows)]
    parts += [Hanging(f"note: {note}") for note in trace.notes]
    refused = _refused(runs, trace)
    if refused:
        parts += ["", _table("gave up or never fitted", runs, refused)]
    return Group(*parts, "", _over_time(runs))


def _refused(runs: Mapping[str, Run], trace: Trace) -> list[list[str]]:
    totals = {
        ask: sum(run.refused_by_ask.get(ask, 0) for run in runs.values()) for ask in range(len(trace.asks))
    }
    worst = sorted((ask for ask, total in totals.items() if total), key=lambda ask: (-totals[ask], ask))
    return [
        [_name(trace.asks[ask]), *(str(run.refused_by_ask.get(ask, 0)) for run in runs.values())]
        for ask in worst[:_SHOWN]
    ]


def _name(claims: Sequence[Claim]) -> str:
    counts = [request.alternatives[0].count for claim in claims for request in claim.requests]
    times = f"{counts[0]} × " if len(counts) == 1 and counts[0] not in (None, 1) else ""
    return times + ", ".join(str(claim.ref) for claim in claims)


def _over_time(runs: Mapping[str, Run]) -> RenderableType:
    columns = [Column(name, is_right=True) for name in ("AT", "IN USE, %", "FRAGMENTED, %", "WAITING")]
    courses = [run.samples for run in runs.values()]
    step = max(1, len(courses[0]) // _MOMENTS)
    rows = [
        [
            duration(moment[0].at),
            " / ".join(f"{100 * one.in_use:.1f}" for one in moment),
            " / ".join(f"{100 * one.fragmentation:.1f}" for one in moment),
            " / ".join(str(one.waiting) for one in moment),
        ]
        for moment in zip(*(course[::step] for course in courses), strict=True)
    ]
    return Group(Hanging(f"over time, {' / '.join(runs)}"), FittingTable(columns, rows))


def _table(head: str, runs: Mapping[str, Run], rows: Sequence[Sequence[str]]) -> RenderableType:
    return FittingTable([Column(head), *(Column(name, is_right=True) for name in runs)], rows)


def _part(count: int, total: int) -> str:
    return f"{count} ({_percent(count / total)})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def simulation_value(runs: Mapping[str, Run], trace: Trace, nodes: int) -> Mapping[str, object]:
    """Return simulations for machines."""
    return {
        "arrivals": len(trace.arrivals),
        "lastArrivalS": trace.arrivals[-1].at,
        "nodes": nodes,
        "notes": trace.notes,
        "policies": {name: _value(run, trace) for name, run in runs.items()},
    }


def _value(run: Run, trace: Trace) -> Mapping[str, object]:
    shown: dict[str, object] = plain(run)
    shown["refusedByAsk"] = [
        {"claims": [str(claim.ref) for claim in trace.asks[ask]], "count": count}
        for ask, count in sorted(run.refused_by_ask.items())
    ]
    return shown
