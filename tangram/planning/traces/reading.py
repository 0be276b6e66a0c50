"""Reads a trace from a file, line by line; what the file begins with says in which format it is."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import IO, Any, Final

from daemon.document import MAX_BYTES, NotReadable
from daemon.documents import json_document
from tangram.errors import BadInput
from tangram.planning.traces.decision_log import read_decisions
from tangram.planning.traces.openb import COLUMNS, read_openb
from tangram.planning.traces.own_format import FIELDS, read_own
from tangram.planning.traces.trace import Trace, Vocabulary
from tangram.program.text_files import name_of, opened_text

_LINE: Final = MAX_BYTES
"""The most characters of a line: the limit in bytes of other files."""
_MOST: Final = 16 * MAX_BYTES
"""The most characters of a trace. A decision log has about 1,000 for each arrival."""
_Row = tuple[int, Mapping[str, Any]]


def read_trace(path: str, known: Vocabulary) -> Trace:
    """Return the trace of a file; ``-`` is standard input. Raises: BadInput."""
    name = name_of(path)
    try:
        with opened_text(path, newline="") as file:
            return _read(name, _lines(name, file), known)
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror or error}") from error
    except csv.Error as error:
        raise BadInput(f"{name}: is no CSV: {error}") from error


def _lines(place: str, file: IO[str]) -> Iterator[str]:
    """Yield the lines with their ends. Raises: BadInput for a line or a file without end, and other text."""
    number = size = 0
    try:
        while line := file.readline(_LINE + 1):
            number, size = number + 1, size + len(line)
            if len(line) > _LINE:
                raise BadInput(f"{place}: line {number}: is larger than {_LINE // 2**20} MiB")
            if size > _MOST:
                raise BadInput(f"{place}: is larger than {_MOST // 2**20} MiB")
            yield line
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: is not UTF-8 text: near line {number + 1}") from error


def _read(place: str, lines: Iterator[str], known: Vocabulary) -> Trace:
    first = next(lines, "")
    rest = chain([first], lines)
    if first.lstrip().startswith("{"):
        return _of_json(place, _json_rows(place, rest), known)
    table = csv.DictReader(rest)
    columns = set(table.fieldnames or ())
    rows = ((table.line_num, row) for row in table)
    if columns >= COLUMNS:
        return read_openb(place, rows, known)
    if "arrival" not in columns:
        raise BadInput(
            f"{place}: is no trace: it must be CSV with the columns {', '.join(FIELDS)}, JSON lines with "
            "these fields, a decision log of the controller, or openb_pod_list of Alibaba's GPU trace of 2023"
        )
    return read_own(place, _without_spare(place, rows), known)


def _of_json(place: str, rows: Iterator[_Row], known: Vocabulary) -> Trace:
    first = next(rows)
    every = chain([first], rows)
    if "result" in first[1]:
        return read_decisions(place, every)
    return read_own(place, every, known)


def _json_rows(place: str, lines: Iterator[str]) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json_document(f"{place}: line {number}", line).content
        except NotReadable as error:
            raise BadInput(f"{place}: line {number}: {error.reason}") from error
        if not isinstance(row, dict):
            raise BadInput(f"{place}: line {number}: must be a JSON object")
        yield number, row


def _without_spare(place: str, rows: Iterator[_Row]) -> Iterator[_Row]:
    for number, row in rows:
        if None in row:
            raise BadInput(f"{place}: line {number}: has more cells than the header has columns")
        yield number, row
