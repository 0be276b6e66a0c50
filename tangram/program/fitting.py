"""Tables and sentences that fit the terminal's width: what is long hangs, and no name is ever cut.

They ask the console for its width when they are drawn, so a picture is made without knowing it. Where the
output is no terminal nothing is broken: a line stays a line for other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from scheduler_core.base.quick_dataclass import dataclass

Cell = str | Text
_GAP: Final = 2
_NARROWEST: Final = 20  # a column of sentences that would be narrower goes below the others
_INDENT: Final = 2


@dataclass(frozen=True, slots=True)
class Hanging:
    """A text whose further lines are indented, so that its head stands out. Units: characters."""

    text: Cell
    indent: int = _INDENT

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the text no wider than the console; words are never broken where they fit a line."""
        yield hanging(self.text, console, options.max_width, self.indent)


def hanging(text: Cell, console: Console, width: int, indent: int = _INDENT) -> Text:
    """Return a text in lines of a width; all but the first are indented, beyond the text's own indent."""
    whole = Text(text) if isinstance(text, str) else text
    body = whole.plain.lstrip(" ")
    head = len(whole.plain) - len(body)
    if whole.cell_len <= width or "\n" in whole.plain:
        return whole
    inner = max(width - head - indent, _NARROWEST)
    lines = whole[head:].wrap(console, inner)
    shown = Text()
    for number, line in enumerate(lines):
        line.rstrip()
        shown.append(" " * (head + (indent if number else 0))).append_text(line)
        shown.append("" if number == len(lines) - 1 else "\n")
    return shown


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Shape: ``is_prose`` for sentences and lists, which may take several lines; all else keeps its line.
    """

    heading: str
    is_right: bool = False
    is_prose: bool = False


@dataclass(frozen=True, slots=True)
class FittingTable:
    """Rows of cells, drawn as a table where that fits.

    In less room the columns of prose get several lines; in still less every row becomes a block: its first
    cell, and the others below it with their headings, as many to a line as fit. An empty cell is left out.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the rows no wider than the console, as far as the longest name lets them."""
        room = options.max_width - _GAP * (len(self.columns) - 1)
        widths = self._widths(len)
        if sum(widths) <= room:
            yield self._table(widths)
            return
        widths = self._widths(_longest_word)
        narrowed = _narrowed(widths, [column.is_prose for column in self.columns], room)
        if narrowed is not None:
            yield self._table(narrowed)
        else:
            yield from self._blocks(console, options.max_width)

    def _widths(self, of_heading: Callable[[str], int]) -> list[int]:
        return [
            max([of_heading(column.heading), *(_text(row[number]).cell_len for row in self.rows)])
            for number, column in enumerate(self.columns)
        ]

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for column, width in zip(self.columns, widths, strict=True):
            table.add_column(
                column.heading if len(column.heading) <= width else column.heading.replace(" ", "\n"),
                width=width,
                justify="right" if column.is_right else "left",
                no_wrap=not column.is_prose,
                overflow="fold",
            )
        for row in self.rows:
            table.add_row(*(_text(cell) for cell in row))
        return table

    def _blocks(self, console: Console, width: int) -> RenderResult:
        for row in self.rows:
            first, *others = (_text(cell) for cell in row)
            name = first.copy()
            name.stylize("bold")
            yield hanging(name, console, width)
            facts = [
                Text().append(f"{column.heading}: ", style="dim").append_text(cell)
                for column, cell in zip(self.columns[1:], others, strict=True)
                if cell.plain
            ]
            for line in _packed(facts, width - _INDENT):
                yield hanging(Text(" " * _INDENT).append_text(line), console, width)


def _packed(facts: Sequence[Text], width: int) -> list[Text]:
    """Return facts in lines: what is short stands beside each other where it fits."""
    lines: list[Text] = []
    for fact in facts:
        if lines and lines[-1].cell_len + _GAP + fact.cell_len <= width:
            lines[-1].append(" " * _GAP).append_text(fact)
        else:
            lines.append(fact)
    return lines


def _narrowed(widths: Sequence[int], is_prose: Sequence[bool], room: int) -> list[int] | None:
    """Return widths that fit: columns of prose share what the others leave. None where that is too little."""
    found = list(widths)
    prose = sorted((number for number, yields in enumerate(is_prose) if yields), key=lambda one: widths[one])
    left = room - sum(width for width, yields in zip(widths, is_prose, strict=True) if not yields)
    for place, number in enumerate(prose):  # the narrowest first: what it does not need is left to the others
        share = left // (len(prose) - place)
        if min(_NARROWEST, widths[number]) > share:
            return None
        found[number] = min(widths[number], share)
        left -= found[number]
    return found if left >= 0 else None


def _longest_word(heading: str) -> int:
    return max(map(len, heading.split()), default=0)


def _text(cell: Cell) -> Text:
    return Text(cell) if isinstance(cell, str) else cell
