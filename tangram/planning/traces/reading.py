"""Reads a trace from a file; what the file begins with says in which format it is."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from tangram.errors import BadInput
from tangram.planning.traces.decision_log import read_decisions
from tangram.planning.traces.openb import COLUMNS, read_openb
from tangram.planning.traces.own_format import FIELDS, read_own
from tangram.planning.traces.trace import Trace, Vocabulary

_Row = tuple[int, Mapping[str, Any]]


def read_trace(path: str, known: Vocabulary) -> Trace:
    """Return the trace of a file; ``-`` is standard input. Raises: BadInput."""
    try:
        if path == "-":
            return _read("standard input", iter(sys.stdin), known)
        with open(path, encoding="utf-8", newline="") as file:
            return _read(path, iter(file), known)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8: {error}") from error
    except csv.Error as error:
        raise BadInput(f"{path}: is no CSV: {error}") from error


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
            row = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{place}: line {number}: is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise BadInput(f"{place}: line {number}: must be a JSON object")
        yield number, row


def _without_spare(place: str, rows: Iterator[_Row]) -> Iterator[_Row]:
    for number, row in rows:
        if None in row:
            raise BadInput(f"{place}: line {number}: has more cells than the header has columns")
        yield number, row
