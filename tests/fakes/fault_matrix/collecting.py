"""Pytest hooks for the fault matrix: they collect the combinations that passed tests have noted.

``--fault-matrix=told`` prints it at the end and fails the run if a combination of the plan was not tried;
``written`` puts it into docs/faults.md too. Processes of xdist send what was noted with their reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from fault_matrix import LEAST, Combination, Outcome, Row, missing, name_of
from fault_matrix.tables import documented, replaced, told
from plugin.kinds.table import AnyKind

DOCUMENT: Final = Path(__file__).parents[3] / "docs/faults.md"
Note = Callable[[Row, AnyKind, int, str, Outcome], None]
_PROPERTY: Final = "fault"
_EXAMPLES: Final = 5


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Note:
    """Note one combination of the fault matrix that the test has tried; it counts if the test passes."""

    def write(row: Row, kind: AnyKind, step: int, point: str, outcome: Outcome) -> None:
        found = Combination(row, name_of(kind), step, point, outcome)
        request.node.user_properties.append((_PROPERTY, found.to_list()))

    return write


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "demand the whole fault matrix and print it; written: into docs/faults.md, too"
    parser.addoption("--fault-matrix", choices=("told", "written"), help=text)


class Collector:
    """Hears of the tests that passed."""

    def __init__(self, config: pytest.Config) -> None:
        self._wanted = config.getoption("--fault-matrix")
        self._found: dict[Combination, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._found |= dict.fromkeys(noted(report))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.problems() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        found = sorted(self._found, key=lambda one: (one.row, one.kind, one.step, one.point))
        terminalreporter.section("fault matrix")
        for line in (*told(found), *self.problems()):
            terminalreporter.line(line)
        if self._wanted == "written" and not self.problems():
            DOCUMENT.write_text(replaced(DOCUMENT.read_text(), documented(found)))
            terminalreporter.line(f"written into {DOCUMENT}")

    def problems(self) -> list[str]:
        """Return what was not tried, as sentences."""
        absent = missing(self._found)
        more = [f"... and {len(absent) - _EXAMPLES} more"] if absent[_EXAMPLES:] else []
        few = [f"fewer than {LEAST} combinations were tried"] if len(self._found) < LEAST else []
        return [*absent[:_EXAMPLES], *more, *few]


def noted(report: pytest.TestReport) -> Iterator[Combination]:
    """Yield what the test of a report has noted."""
    for name, value in report.user_properties:
        if name == _PROPERTY:
            assert isinstance(value, list)
            yield Combination.from_list(value)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("--fault-matrix") and not is_worker:
        config.pluginmanager.register(Collector(config), "fault-matrix")
