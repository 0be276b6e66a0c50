"""The result of a benchmark: figures in rows, each with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from statistics import median
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass

US: Final = 1_000
MS: Final = 1_000_000


class Unit(StrEnum):
    """What a figure counts."""

    NANOSECONDS = "ns"
    CLAIMS_PER_SECOND = "claims/s"
    BYTES_PER_DEVICE = "B/device"
    PERCENT = "%"
    DISAGREEMENTS = "disagreements"
    PODS_PER_SECOND = "pods/s"
    REVIEWS_PER_SECOND = "reviews/s"
    MEBIBYTES = "MiB"
    CALLS = "calls"


RATES: Final = frozenset({Unit.CLAIMS_PER_SECOND, Unit.PODS_PER_SECOND, Unit.REVIEWS_PER_SECOND})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure.

    Shape: ``median`` of times, of percentages the mean, else the one figure; ``p99`` None where there is
           no distribution; ``must`` None where nothing is asked: the figure must be at most that, at
           least where it is a rate; ``note`` what else was counted.
    Units: those of ``unit``.
    """

    case: str
    unit: Unit
    median: float
    p99: float | None = None
    samples: int = 1
    must: float | None = None
    note: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the figure is as it must be, None where nothing is asked."""
        if self.must is None:
            return None
        if self.unit in RATES:
            return self.median >= self.must
        return self.median <= self.must


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A benchmark's rows.

    Shape: ``wrong`` says each answer that was not the right one.
    Units: ``peak_memory_bytes`` of the process that ran it, interpreter and imports included; 0 where others
           did the work.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    wrong: tuple[str, ...] = ()
    peak_memory_bytes: int = 0


def times(
    case: str,
    nanoseconds: Sequence[int],
    must_ns: int | None = None,
    note: str = "",
) -> Row:
    """Return the row of measured times: at least one."""
    return Row(
        case=case,
        unit=Unit.NANOSECONDS,
        median=median(nanoseconds),
        p99=percentile(nanoseconds, 99),
        samples=len(nanoseconds),
        must=must_ns,
        note=note,
    )


def percentile(values: Sequence[int], share: int) -> int:
    """Return the smallest value that ``share`` percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]
