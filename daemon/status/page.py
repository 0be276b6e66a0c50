"""PURE: what a program knows, as a JSON value and as a page of text of 80 columns.

A status has facts, and tables with rows. A row is a JSON object; ``cells`` says how people read it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 80
_GAP: Final = "  "
_BELOW: Final = " " * 6
_LEAST: Final = 24
"""The last column has at least so many characters."""
_MOST_ROWS: Final = 200
"""A page shows so many rows of a table; JSON has all of them."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one sort.

    Shape: ``name`` is the key in JSON, with the words of the heading; ``heads`` of the columns, the last one
           of which may be long; ``cells`` returns a row's texts, one for each column.
    """

    name: str
    heads: tuple[str, ...]
    rows: Sequence[Row]
    cells: Callable[[Row], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Status:
    """What a program knows now. Shape: ``facts`` by name, each a string, a number or a truth value."""

    facts: Mapping[str, Any]
    tables: tuple[Table, ...]

    def json(self) -> dict[str, Any]:
        """Return the JSON value."""
        return {**self.facts, **{table.name: list(table.rows) for table in self.tables}}

    def text(self) -> str:
        """Return the page. Shape: no line is longer than ``WIDTH``."""
        longest = max(map(len, self.facts), default=0)
        lines = [
            line
            for name, value in self.facts.items()
            for line in _wrapped(f"{name.replace('_', ' ')}:".ljust(longest + 2), _shown(value))
        ]
        for table in self.tables:
            lines += ["", *_page(table)]
        return "".join(f"{line}\n" for line in lines)


def duration(seconds: float) -> str:
    """Return a time span as people say it: ``45s``, ``3m10s``, ``2h05m``, ``3d04h``. Units: seconds."""
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if days:
        return f"{days}d{hours % 24:02}h"
    if hours:
        return f"{hours}h{minutes % 60:02}m"
    return f"{minutes}m{whole % 60:02}s" if minutes else f"{whole}s"


def _page(table: Table) -> list[str]:
    title = table.name.replace("_", " ")
    if not table.rows:
        return [f"{title}: none"]
    shown = [table.cells(row) for row in table.rows[:_MOST_ROWS]]
    short = [list(map(len, column)) for column in zip(table.heads, *shown, strict=True)][:-1]
    widths = [max(lengths) for lengths in short]
    lines = [f"{title}:"]
    for cells in (table.heads, *shown):
        first = [cell.ljust(width) + _GAP for cell, width in zip(cells, widths, strict=False)]
        lines += _wrapped("".join((_GAP, *first)), cells[-1])
    if len(table.rows) > _MOST_ROWS:
        lines.append(f"  and {len(table.rows) - _MOST_ROWS} more; --json prints all of them")
    return lines


def _wrapped(start: str, last: str) -> list[str]:
    """Return a line whose last cell goes on in further lines below itself."""
    if len(start) + _LEAST > WIDTH:  # a column is longer than expected: the last one goes below
        below = textwrap.wrap(last, WIDTH - len(_BELOW))
        return [*textwrap.wrap(start, WIDTH, drop_whitespace=False), *(f"{_BELOW}{line}" for line in below)]
    parts = textwrap.wrap(last, WIDTH - len(start)) or [""]
    return [(start + parts[0]).rstrip(), *(" " * len(start) + part for part in parts[1:])]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
