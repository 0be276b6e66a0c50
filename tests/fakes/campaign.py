"""A campaign tries many machines that answer anything: in rounds, and it says after each how far it is."""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest

TREES = int(os.environ.get("TANGRAM_TREES", "60"))
"""How many machines each property tries; make explore-trees sets it."""

ROUND = min(TREES, 1000)
"""How many of them a round tries. What hypothesis remembers of each one would fill the memory otherwise."""

in_rounds = pytest.mark.parametrize("before", range(0, TREES, ROUND), scope="module")
"""A property that is tried in rounds, one property after the other in each.

Shape: ``before`` counts the machines of the rounds before.
"""


class Progress:
    """A plugin of pytest: writes a line after each round, so that a campaign that is stopped has a count."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started_s = time.monotonic()
        self._tried = Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell how many machines a property has tried, and how many a second since the start."""
        name, in_round, _ = report.location[2].partition("[")
        if report.when != "call" or not in_round:
            return
        self._tried[name] += ROUND
        tried, took_s = self._tried[name], time.monotonic() - self._started_s
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:  # a worker has none
            so_far = f"{tried:,} of {TREES:,} in {took_s:,.0f} s, {tried / took_s:.0f} a second"
            terminal.ensure_newline()
            terminal.write_line(f"{name}: {so_far}, {report.outcome}", flush=True)


def show_progress(config: pytest.Config) -> None:
    """Write such lines if this run is a campaign."""
    if TREES > ROUND:
        config.pluginmanager.register(Progress(config))
