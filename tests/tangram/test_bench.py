"""``tangram bench``: every benchmark runs on a small size and says all that it should. No time is judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler_core.engine.policy.policies import FIRST_FIT
from tangram.bench.catalogue import BENCHMARKS, QUICK, chosen
from tangram.bench.machine import Dgx
from tangram.bench.pictures import amount
from tangram.bench.report import Row, Unit, percentile
from tangram.bench.settings import Settings
from tangram.hardware import AllMachines

COUNTS = {"B17": 1}
"""Of benchmarks that mostly wait."""
ROW = {"case", "unit", "median", "p99", "samples", "must", "note", "isMet"}


@pytest.fixture(scope="module")
def settings():
    return Settings(dgx=Dgx(AllMachines()), policy=FIRST_FIT, nodes=3, count=20, say=lambda _: None)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_answers_rightly_and_measures_something(name, settings):
    report = BENCHMARKS[name](replace(settings, count=COUNTS.get(name, settings.count)))

    assert report.name == name
    assert report.wrong == ()
    assert all(row.samples >= 1 for row in report.rows)
    assert any(row.must is not None for row in report.rows)


def test_the_command_prints_every_figure_beside_what_it_must_be(tangram):
    said = tangram("bench", "B10", "--count", "20", "--json")

    (report,) = said.json["benchmarks"]
    assert said.status == 0
    assert report.keys() == {"name", "title", "rows", "wrong", "peakMemoryBytes"}
    assert report["peakMemoryBytes"] > 2**20
    assert all(row.keys() == ROW for row in report["rows"])
    assert (report["rows"][0]["must"], report["rows"][0]["isMet"]) == (0, True)
    assert "B10: started" in said.err


def test_for_people_the_figures_are_a_table(tangram):
    said = tangram("bench", "B10", "--count", "20")

    assert "engine against plain search" in said.out
    assert "≤ 0 disagreements" in said.out


def test_no_name_means_the_quick_ones_and_all_means_all():
    assert chosen([]) == QUICK
    assert chosen(["all"]) == tuple(BENCHMARKS)
    assert chosen(["B10", "B1", "B1"]) == ("B1", "B10")


@pytest.mark.parametrize(
    ("unit", "figure", "must", "is_met"),
    [
        (Unit.NANOSECONDS, 10, 10, True),
        (Unit.NANOSECONDS, 11, 10, False),
        (Unit.CLAIMS_PER_SECOND, 11, 10, True),
        (Unit.CLAIMS_PER_SECOND, 9, 10, False),
        (Unit.PERCENT, -20, -15, True),
        (Unit.BYTES_PER_DEVICE, 10**6, None, None),
    ],
)
def test_a_rate_must_be_reached_and_all_else_not_exceeded(unit, figure, must, is_met):
    assert Row(case="c", unit=unit, median=figure, must=must).is_met is is_met


@pytest.mark.parametrize(("share", "value"), [(50, 50), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_was_measured(share, value):
    assert percentile(list(range(1, 101)), share) == value


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1500, Unit.NANOSECONDS, "1.5 µs"),
        (0, Unit.NANOSECONDS, "0 ns"),
        (-17.5, Unit.PERCENT, "-17.5 %"),
        (44_000, Unit.CLAIMS_PER_SECOND, "44,000 claims/s"),
    ],
)
def test_figures_are_shown_in_a_unit_that_suits_them(value, unit, shown):
    assert amount(value, unit) == shown
