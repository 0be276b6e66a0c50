"""The fault matrix as text: for people at the end of a run, and for docs/faults.md. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from fault_matrix import STEPS, Combination, Row, counted

BEGIN, END = "<!-- matrix -->", "<!-- /matrix -->"
K = TypeVar("K", bound=Hashable)


def told(found: Sequence[Combination]) -> Iterator[str]:
    """Yield a line for each thing that was tried, and the count."""
    by_row = _grouped(found, lambda one: one.row)
    for row in (one for one in STEPS if one in by_row):
        deed = f"{row.deed}: {row.fault}" + (f", then {row.then}" if row.then != "-" else "")
        kinds = len({one.kind for one in by_row[row]})
        yield f"{deed:58} {len(by_row[row]):4} in {kinds:2} kinds: {_outcomes(by_row[row])}"
    kinds = len({one.kind for one in found})
    yield f"{len(found)} combinations of point, kind, fault and outcome; {kinds} kinds"


def documented(found: Sequence[Combination]) -> str:
    """Return the region of the document."""
    parts = [f"{len(found)} combinations: {_outcomes(found)}.", _by_kind(found)]
    by_deed = _grouped(found, lambda one: one.row.deed)
    parts += [f"### Points of {deed}\n\n{_by_point(tried)}" for deed, tried in by_deed.items()]
    return "\n\n".join(parts)


def replaced(document: str, region: str) -> str:
    """Return the document with another region. Raises: ValueError where it has none."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no region {BEGIN} ... {END}")
    return f"{head}{BEGIN}\n\n{region}\n\n{END}{tail}"


def _by_kind(found: Sequence[Combination]) -> str:
    deeds = list(dict.fromkeys(one.row.deed for one in found))
    rows = [
        [kind, *(str(sum(one.row.deed == deed for one in tried) or "") for deed in deeds), _outcomes(tried)]
        for kind, tried in sorted(_grouped(found, lambda one: one.kind).items())
    ]
    return _table(["kind", *deeds, "outcomes"], rows)


def _by_point(found: Sequence[Combination]) -> str:
    rows_tried = [row for row in STEPS if any(one.row == row for one in found)]
    cells = _grouped(found, lambda one: (one.point, one.row))
    order = sorted(found, key=lambda one: one.step)
    return _table(
        ["point", *map(_heading, rows_tried)],
        [
            [point, *(_outcomes(cells.get((point, row), ())) for row in rows_tried)]
            for point in dict.fromkeys(one.point for one in order)
        ],
    )


def _heading(row: Row) -> str:
    return row.fault if row.then == "-" else f"{row.fault}, then {row.then}"


def _outcomes(found: Iterable[Combination]) -> str:
    return counted(one.outcome for one in found)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _grouped(found: Iterable[Combination], key: Callable[[Combination], K]) -> dict[K, list[Combination]]:
    groups: defaultdict[K, list[Combination]] = defaultdict(list)
    for one in found:
        groups[key(one)].append(one)
    return dict(groups)
