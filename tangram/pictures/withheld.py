"""What a node withholds as a table: devices of one kind and reason in a row."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from agent.inventory.withheld import Withheld, alike


def withheld_table(found: Iterable[Withheld]) -> Table:
    """Draw the devices that are not offered, with the reason and who acts."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("kind")
    table.add_column("devices", justify="right")
    table.add_column("names")
    table.add_column("reason")
    for one in alike(found):
        first, last = one.devices[0], one.devices[-1]
        names = first if first == last else f"{first} … {last}"
        table.add_row(one.kind, str(len(one.devices)), names, str(one.reason), style="yellow")
    return table
