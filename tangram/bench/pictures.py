"""Results as text for people: a table of figures, and a line per answered input."""

from __future__ import annotations

from statistics import median
from typing import Final

from rich.table import Table
from rich.text import Text

from tangram.bench.answer import Answer
from tangram.bench.report import RATES, Report, Row, Unit

_TIMES: Final = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
_MIB: Final = 2**20


def report_table(report: Report) -> Table:
    """Return the figures of one benchmark, each beside what it must be."""
    memory = f"  (peak memory {report.peak_memory_bytes / _MIB:.0f} MiB)" if report.peak_memory_bytes else ""
    table = Table(title=f"{report.name}  {report.title}{memory}", title_justify="left")
    table.add_column("case", min_width=36)
    for heading in ("median", "p99", "samples", "must"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in report.rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> tuple[str | Text, ...]:
    p99 = "" if row.p99 is None or row.samples == 1 else amount(row.p99, row.unit)
    must = "" if row.must is None else f"{_comparison(row)} {amount(row.must, row.unit)}"
    return (row.case, amount(row.median, row.unit), p99, str(row.samples), must, _remark(row))


def _remark(row: Row) -> Text:
    verdict = {True: Text("as it must be", "green"), False: Text("missed", "red"), None: Text()}[row.is_met]
    return verdict.append(f"; {row.note}" if row.note and verdict else row.note)


def _comparison(row: Row) -> str:
    return "≥" if row.unit in RATES else "≤"


def amount(value: float, unit: Unit) -> str:
    """Return a figure in a unit that suits it."""
    if unit is not Unit.NANOSECONDS:
        return f"{value:,.0f} {unit}" if abs(value) >= 100 else f"{value:.3g} {unit}"
    size, name = next((one for one in _TIMES if value >= one[0]), _TIMES[-1])
    return f"{value / size:.3g} {name}"


def answer_line(place: str, found: Answer, nodes: int) -> str:
    """Return an answered input in a line."""
    if found.error is not None:
        return f"{place}: error: {found.error}"
    if found.timed_out:
        return f"{place}: no answer after {amount(found.cold_nanoseconds, Unit.NANOSECONDS)}"
    outcome = "does not fit" if found.unschedulable else _fitting(len(found.fits), nodes)
    cold = amount(found.cold_nanoseconds, Unit.NANOSECONDS)
    if not found.nanoseconds:
        return f"{place}: {outcome}; nothing was asked"
    warm, samples = amount(median(found.nanoseconds), Unit.NANOSECONDS), len(found.nanoseconds)
    return f"{place}: {outcome}; cold {cold}, warm {warm} (median of {samples})"


def _fitting(count: int, nodes: int) -> str:
    return f"{count} of {nodes} node{'s' * (nodes != 1)} fit{'s' * (count == 1)}"
