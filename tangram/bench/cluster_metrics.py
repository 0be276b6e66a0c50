"""Figures from a server's metrics page: what was counted between two readings of it.

Takes text in Prometheus' exposition format; returns counts and sums. Nothing here asks a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Self

from scheduler_core.base.quick_dataclass import dataclass

_LINE: Final = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Sample = tuple[Mapping[str, str], float]


def samples(text: str, name: str) -> Iterator[Sample]:
    """Yield the labels and the value of each sample of a metric."""
    for line in text.splitlines():
        if line.startswith(name) and (match := _LINE.match(line)) and match[1] == name:
            yield dict(_LABEL.findall(match[2] or "")), float(match[3])


@dataclass(frozen=True, slots=True)
class Calls:
    """How many calls a server has counted, and how long all of them took. Units: seconds."""

    count: float
    total_s: float

    @classmethod
    def read(cls, text: str, name: str, **labels: str) -> Self:
        """Return what a histogram knows, over all its series whose labels match these patterns."""
        return cls(counted(text, f"{name}_count", **labels), counted(text, f"{name}_sum", **labels))

    def since(self, earlier: Calls) -> Calls:
        """Return what was counted after an earlier reading."""
        return Calls(self.count - earlier.count, self.total_s - earlier.total_s)


def counted(text: str, name: str, **labels: str) -> float:
    """Return the sum of a counter over all its series whose labels match these patterns."""
    return sum(value for _, value in _of(text, name, labels))


def _of(text: str, name: str, labels: Mapping[str, str]) -> Iterator[Sample]:
    for found, value in samples(text, name):
        if all(re.fullmatch(wanted, found.get(key, "")) for key, wanted in labels.items()):
            yield found, value
