"""Tangram's own traces: CSV with a header, or JSON lines, with the same fields (docs/plan-ahead.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from scheduler_core.model.claim import Claim, ClaimRef
from tangram.planning.traces.cells import MOST_DEVICES, bad, seconds, whole
from tangram.planning.traces.trace import Trace, TraceBuilder, Vocabulary

FIELDS: Final = ("arrival", "duration", "profile", "class", "claim", "count", "namespace")
_WHAT: Final = ("profile", "class", "claim")


def read_own(place: str, rows: Iterable[tuple[int, Mapping[str, Any]]], known: Vocabulary) -> Trace:
    """Return the trace of rows with their line numbers. Raises: BadInput with line, field, value and rule."""
    builder = TraceBuilder(place)
    for line, row in rows:
        given = {key: value for key, value in row.items() if value not in (None, "")}
        for key, value in given.items():
            if key not in FIELDS:
                raise bad(place, line, str(key), value, f"is no field: they are {', '.join(FIELDS)}")
        at = seconds(place, line, "arrival", given.get("arrival"))
        stays = given.get("duration")
        stays_s = None if stays is None else seconds(place, line, "duration", stays, least=1e-9)
        builder.arrive(at, stays_s, _ask(place, line, given, builder, known))
    return builder.trace()


def _ask(place: str, line: int, given: Mapping[str, Any], builder: TraceBuilder, known: Vocabulary) -> int:
    what = [key for key in _WHAT if key in given]
    if len(what) != 1:
        raise bad(place, line, ", ".join(_WHAT), ", ".join(what) or None, "exactly one of them must be given")
    (field,) = what
    name, namespace = str(given[field]), str(given.get("namespace", "default"))
    count = _count(place, line, given, field)
    key = (field, name, count, namespace)
    if builder.knows(key):
        return builder.ask(key, ())
    try:
        return builder.ask(key, [_claim(field, name, count, namespace, known)])
    except ValueError as error:
        raise bad(place, line, field, name, str(error)) from None


def _claim(field: str, name: str, count: int, namespace: str, known: Vocabulary) -> Claim:
    match field:
        case "profile":
            return known.of_kind(name, count, namespace)
        case "class":
            return known.of_class(name, count, namespace)
        case _:
            found = known.claim(name)
            return replace(found, ref=ClaimRef(namespace, found.ref.name))


def _count(place: str, line: int, given: Mapping[str, Any], field: str) -> int:
    count = whole(place, line, "count", str(given.get("count", 1)), least=1, most=MOST_DEVICES)
    if field == "claim" and count != 1:
        raise bad(place, line, "count", str(count), "is for profile and class: a claim has its own count")
    return count
