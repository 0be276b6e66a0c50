"""Figures from a server's metrics page: what was counted between two readings of it.

Text in Prometheus' exposition format enters, counts and quantiles leave. Nothing here asks a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, Self

_LINE: Final = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Sample = tuple[Mapping[str, str], float]


def samples(text: str, name: str) -> Iterator[Sample]:
    """Yield the labels and the value of each sample of a metric."""
    for line in text.splitlines():
        if line.startswith(name) and (match := _LINE.match(line)) and match[1] == name:
            yield dict(_LABEL.findall(match[2] or "")), float(match[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Durations as a server counts them.

    Shape: ``buckets`` map an upper end to how many were not above it; the last end is infinity.
    Units: seconds.
    """

    buckets: Mapping[float, float]
    total: float
    count: float

    @classmethod
    def read(cls, text: str, name: str, labels: Mapping[str, str]) -> Self:
        """Return a histogram, over all its series whose labels match these patterns."""
        buckets = dict[float, float]()
        for found, value in _of(text, f"{name}_bucket", labels):
            end = float(found["le"])
            buckets[end] = buckets.get(end, 0.0) + value
        return cls(
            buckets=buckets,
            total=sum(value for _, value in _of(text, f"{name}_sum", labels)),
            count=sum(value for _, value in _of(text, f"{name}_count", labels)),
        )

    def since(self, earlier: Histogram) -> Histogram:
        """Return what was counted after an earlier reading."""
        return Histogram(
            buckets={end: value - earlier.buckets.get(end, 0.0) for end, value in self.buckets.items()},
            total=self.total - earlier.total,
            count=self.count - earlier.count,
        )

    @property
    def mean_s(self) -> float:
        """Return the mean. Shape: there must have been one."""
        return self.total / self.count

    def quantile_s(self, share: float) -> float:
        """Return a quantile, placed within its bucket as PromQL's ``histogram_quantile`` places it."""
        wanted, below, counted = share * self.count, 0.0, 0.0
        for end, value in sorted(self.buckets.items()):
            if value >= wanted:
                return below if end == inf else below + (end - below) * (wanted - counted) / (value - counted)
            below, counted = end, value
        return below


def counted(text: str, name: str, **labels: str) -> float:
    """Return the sum of a counter over all its series whose labels match these patterns."""
    return sum(value for _, value in _of(text, name, labels))


def _of(text: str, name: str, labels: Mapping[str, str]) -> Iterator[Sample]:
    for found, value in samples(text, name):
        if all(re.fullmatch(wanted, found.get(key, "")) for key, wanted in labels.items()):
            yield found, value
