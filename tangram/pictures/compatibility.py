"""Draws which devices may be in use together, as a table of marks, with the reasons below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from scheduler_core.books.matrix import Matrix

WIDEST: Final = 40  # columns that fit on a screen


def compatibility_picture(matrix: Matrix, contradictions: tuple[str, ...]) -> Iterator[RenderableType]:
    """Yield the table (if the pool is not too large for one) and the contradictions."""
    if len(matrix.devices) > WIDEST:
        text = f"{len(matrix.devices)} devices are too many for a table; --json prints every pair"
        yield Text(text, style="yellow")
    else:
        yield _square(matrix)
    for sentence in contradictions:
        yield Text(f"contradiction: {sentence}", style="red")


def _square(matrix: Matrix) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("may be in use with")
    for number in range(1, len(matrix.devices) + 1):
        table.add_column(str(number), justify="right")
    for number, one in enumerate(matrix.devices, 1):
        marks = (
            "·" if one == other else "x" if matrix.allows(one, other) else "-" for other in matrix.devices
        )
        table.add_row(f"{number} {one}", *marks)
    return table
