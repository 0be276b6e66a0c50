"""Which tests are tried once more, and what is told in the end (docs/decisions/0092-a-second-try.md).

Three clusters side by side keep all processors busy, and now and then a program of Kubernetes is late for a
test. A test that failed is tried again when all else is over. One that passes then is told by its name; one
that fails again fails the run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_TESTS = 5  # of a part: where more fail, something is broken


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the tests of a part ended.

    Shape: ``failed`` are pytest's ids, empty where no test ran. ``second`` is the exit status of the second
    try, None where there was none.
    """

    name: str
    status: int
    failed: tuple[str, ...]
    second: int | None = None

    @property
    def final(self) -> int:
        """The exit status that counts."""
        return self.status if self.second is None else self.second


def is_tried_again(outcome: Outcome) -> bool:
    """Return whether the part is tried again: also where its cluster did not start, so that no test ran."""
    return outcome.status != 0 and len(outcome.failed) <= MOST_TESTS


def empty(folder: Path) -> Path:
    """Make pytest's cache folder anew, so that no test of an earlier run is taken for one that failed now."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def failed_tests(cache: Path) -> tuple[str, ...]:
    """Return the ids of the tests that pytest noted in its cache folder as failed."""
    noted = cache / "v" / "cache" / "lastfailed"
    return tuple(sorted(json.loads(noted.read_text()))) if noted.is_file() else ()


def summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield a line per part and one per test that failed, the worst last: a log is read from its end."""
    for outcome in sorted(outcomes, key=lambda one: (one.final != 0, one.status != 0)):
        yield f"{outcome.name}: {_verdict(outcome)}"
        for test in outcome.failed:
            yield f"    {test}"


def _verdict(outcome: Outcome) -> str:
    if outcome.status == 0:
        return "passed"
    what = (
        f"{len(outcome.failed)} failed" if outcome.failed else f"exit status {outcome.status}, no test failed"
    )
    if outcome.second is None:
        return f"{what}; not tried again: more than {MOST_TESTS} tests"
    if outcome.second == 0:
        return f"{what} and PASSED WHEN TRIED AGAIN, with no other cluster beside it:"
    return f"{what}, and again when tried with no other cluster beside it (exit status {outcome.second}):"
