"""What the plugin's log says of claims: when they were prepared and unprepared. Pure.

In go the texts of its logs, as the kubelet keeps them; each line has the time at which the plugin wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

_AT = r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})"
_BY_ITSELF = "what it has here is undone"


class Said(NamedTuple):
    """One line about a claim. Units: seconds since 1970."""

    at_s: float
    text: str


def said_of(owner: str, logs: Iterable[str]) -> list[Said]:
    """Return the lines about a claim, in the order of their times.

    Shape: ``owner`` names a claim, or begins the name of one that was made from a template.
    """
    line = re.compile(rf"{_AT} .*?claim [^ /]+/{re.escape(owner)}(-c-\w+)? \([^)]*\): (?P<said>.*)")
    return sorted(
        Said(_seconds(found["at"]), found["said"]) for text in logs for found in line.finditer(text)
    )


def prepared_s(lines: Iterable[Said], before_s: float) -> float | None:
    """Return when a claim was last prepared before a time, None for never. Units: seconds since 1970."""
    return max((at_s for at_s, text in _until(lines, before_s) if text.startswith("prepared")), default=None)


def was_unprepared(lines: Iterable[Said], before_s: float) -> bool:
    """Whether the kubelet had a claim unprepared before a time, and it was not prepared again by then.

    Where the plugin ended the claim by itself the answer is no. Units: seconds since 1970.
    """
    earlier = [text for _, text in _until(lines, before_s)]
    states = [text for text in earlier if text.startswith(("prepared", "unprepared"))]
    is_over = bool(states) and states[-1].startswith("unprepared")
    return is_over and not any(text.endswith(_BY_ITSELF) for text in earlier)


def _until(lines: Iterable[Said], before_s: float) -> Iterator[Said]:
    return (one for one in lines if one.at_s < before_s)


def _seconds(text: str) -> float:
    return datetime.strptime(f"{text}000", "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp()
