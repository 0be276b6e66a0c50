"""What all tests share: the fault matrix, and properties without a deadline: machines are slow now and then.

Properties try the same examples in each run, so that a red run means a change; ``make explore`` tries others.
"""

import gc
import os

import needs
import pytest
import short_folders
from fault_matrix import collecting
from fault_matrix.collecting import note, pytest_addoption
from hypothesis import settings
from hypothesis.internal.conjecture import providers

__all__ = ("note", "pytest_addoption")

PROFILE = "--hypothesis-profile"
EXPLORE = "explore"
settings.register_profile("tangram", deadline=None, derandomize=True)
settings.register_profile(EXPLORE, deadline=None)
settings.load_profile("tangram")


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes: more than processors, since a third of the time is waiting."""
    count = len(os.sched_getaffinity(0))
    return count + max(1, count // 2)


def pytest_configure(config: pytest.Config) -> None:
    """Collect no garbage while tests are collected: there is hardly any, and ever more objects to look at.

    The tests' own folders lie in memory where there is room, and pytest keeps those of tests that failed.
    Examples are made of constants of all loaded modules, which are others in each worker: explorers only.
    """
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", short_folders.ROOT)
    gc.disable()
    if config.getoption(PROFILE) != EXPLORE:
        providers.is_local_module_file = lambda _: False
    collecting.pytest_configure(config)


def pytest_collection_finish() -> None:
    """Leave what collecting made out of all later looks for garbage: it lives as long as the process."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was skipped, and the commands that would run it, in one line."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.write_line(needs.summary([report.longrepr[2] for report in skipped]))
