"""What a node withholds as a table: devices of one kind and reason in a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.text import Text

from agent.inventory.withheld import Withheld, alike
from tangram.program.fitting import Column, FittingTable

_COLUMNS: Final = (
    Column("kind"),
    Column("devices", is_right=True),
    Column("names", is_prose=True),
    Column("reason", is_prose=True),
)


def withheld_table(found: Iterable[Withheld]) -> FittingTable:
    """Draw the devices that are not offered, with the reason and who acts."""
    rows = []
    for one in alike(found):
        first, last = one.devices[0], one.devices[-1]
        names = first if first == last else f"{first} … {last}"
        cells = (one.kind, str(len(one.devices)), names, str(one.reason))
        rows.append([Text(cell, style="yellow") for cell in cells])
    return FittingTable(_COLUMNS, rows)
