"""Builds what kubectl and Tangram print as YAML line by line, without a parser of YAML.

Takes a text and returns its documents, or None where a line is anything else than a key, or an item of a
list, with at most one scalar behind it: no block scalar, anchor, tag, escape, comment behind a value, letter
beyond ASCII, and of flow collections only the empty ones. The caller then has the text read by a parser of
YAML, which takes four times as long. Slices repeat most of their lines, so what a line says is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from daemon.document import Progress
from daemon.yaml_text.building import Builder
from daemon.yaml_text.line import BOUNDARY, Step, step_of
from daemon.yaml_text.unusual import Unusual

_KEPT: Final = 100_000  # lines of which is kept what they say
_PIECE: Final = 500_000  # characters between two calls of a Progress: some hundredths of a second
_VALUES_OF_A_LINE: Final = 3  # a list, a mapping in it, and the value of the mapping's first key


@dataclass(frozen=True, slots=True)
class Built:
    """A document. Shape: ``line`` it begins in; ``values`` it has at most, itself among them."""

    line: int
    content: Any
    values: int


def documents_of_lines(text: str, max_depth: int, progress: Progress | None = None) -> list[Built] | None:
    """Return every document that is not empty, None for a text with a line of another kind."""
    found, known = list[Built](), dict[str, Step]()
    builder = Builder(max_depth)
    first = number = 0
    try:
        for number, line in enumerate(_lines(text, progress), 1):
            step = known.get(line)
            if step is None:
                step = step_of(line)
                if len(known) < _KEPT:
                    known[line] = step
            column, is_item, key, value = step
            if column >= 0:
                first = first or number
                if is_item:
                    builder.take_item(column, key, value)
                else:
                    builder.take_key(column, key, value)
            elif step is BOUNDARY and first:
                found.append(Built(first, builder.end(), _VALUES_OF_A_LINE * (number - first)))
                first = 0
    except Unusual:
        return None
    if first:
        found.append(Built(first, builder.end(), _VALUES_OF_A_LINE * (number - first + 1)))
    return found


def _lines(text: str, progress: Progress | None) -> Iterator[str]:
    """Yield the lines one by one: a list of all lines would take as much memory as the text again."""
    begin, end = 0, text.find("\n", _PIECE)
    while end >= 0:
        yield from text[begin:end].split("\n")
        begin = end + 1
        if progress is not None:
            progress(begin)
        end = text.find("\n", begin + _PIECE)
    yield from text[begin:].split("\n")
