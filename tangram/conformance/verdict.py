"""Verdicts: one for each case, counted per file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass


class Verdict(StrEnum):
    """What became of one case."""

    PASSED = "passed"
    FAILED = "failed"
    DECIDED = "decided"
    """Ours differs where the mission leaves it open, and a decision record says so."""
    SKIPPED = "skipped"
    """Records what others do; the mission asks for something else and does not say what."""
    UNSUPPORTED = "unsupported"
    """Needs a front end that is not here."""


@dataclass(frozen=True, slots=True)
class CaseReport:
    """One case. Shape: ``detail`` is one line, empty where it passed; ``answer`` in the case's own form."""

    file: str
    name: str
    verdict: Verdict
    detail: str = ""
    answer: Any = None


@dataclass(frozen=True, slots=True)
class FileReport:
    """The cases of one file, in its order."""

    file: str
    cases: tuple[CaseReport, ...]

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """Return how many cases came to each verdict. Shape: has every verdict."""
        return counts(self.cases)


def counts(cases: Iterable[CaseReport]) -> Mapping[Verdict, int]:
    """Return how many cases came to each verdict. Shape: has every verdict."""
    found = Counter(case.verdict for case in cases)
    return {verdict: found[verdict] for verdict in Verdict}
