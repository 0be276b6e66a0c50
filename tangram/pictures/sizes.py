"""Slice sizes as tables: one node in every form, and every node as Markdown for the README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tangram.program.fitting import Column, FittingTable, Hanging
from tangram.sizes import Size

_NUMBERS_FROM = 1  # the first column holds names


def sizes_table(sizes: Sequence[Size]) -> RenderableType:
    """Draw the forms of one pool, each compared with the first; obstacles to a form follow."""
    rows = list[Sequence[str]]()
    obstacles = list[Hanging]()
    for size in sizes:
        if size.obstacle is not None:
            obstacles.append(Hanging(Text(f"{size.form}: {size.obstacle}", style="red")))
            continue
        share = f"{100 * size.total_bytes / sizes[0].total_bytes:.0f} %"
        bytes_of = (_grouped(size.total_bytes), _grouped(size.largest_bytes))
        rows.append((size.form, str(size.slices), *bytes_of, share))
    heads = ("form", "slices", "bytes", "largest slice", "relative")
    columns = [Column(head, is_right=head != "form") for head in heads]
    return Group(FittingTable(columns, rows), *obstacles)


def sizes_markdown(nodes: Mapping[str, tuple[int, Sequence[Size]]]) -> str:
    """Return the table of all nodes: devices, and the bytes of the composite and the v1 form.

    Shape: ``nodes`` maps a name to its number of devices and the sizes of its forms.
    """
    head = ["node", "devices", "composite", "composite, flattened", "share", "v1"]
    rows = [[name, str(count), *_forms(sizes)] for name, (count, sizes) in nodes.items()]
    return markdown(head, rows)


def _forms(sizes: Sequence[Size]) -> list[str]:
    by_form = {size.form: size for size in sizes}
    composite, flat, v1 = (by_form[form] for form in ("composite", "composite, flattened", "v1"))
    share = f"{100 * composite.total_bytes / flat.total_bytes:.0f} %"
    return [_cell(composite), _grouped(flat.total_bytes), share, _cell(v1)]


def _cell(size: Size) -> str:
    if size.obstacle is not None:
        return "not expressible"
    return f"{_grouped(size.total_bytes)} in {size.slices}"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table that reads well as plain text too."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    rule = [
        "-" * width if index < _NUMBERS_FROM else "-" * (width - 1) + ":"
        for index, width in enumerate(widths)
    ]
    lines = [_line(head, widths), "| " + " | ".join(rule) + " |", *(_line(row, widths) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.ljust(width) if index < _NUMBERS_FROM else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "| " + " | ".join(padded) + " |"
