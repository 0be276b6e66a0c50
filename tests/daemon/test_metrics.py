"""The text that Prometheus reads."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.metrics import Definition, Registry

DEFINITIONS = {
    "writes_total": Definition("counter", "Writes that succeeded."),
    "form": Definition("gauge", "1 for the present form."),
}


@pytest.fixture
def metrics() -> Registry:
    return Registry("test_", DEFINITIONS)


def test_a_metric_without_a_value_is_not_shown(metrics: Registry) -> None:
    assert metrics.text() == ""


def test_a_counter_has_its_help_its_type_and_one_line_for_each_set_of_labels(metrics: Registry) -> None:
    metrics.count("writes_total", verb="create", kind="Pod")
    metrics.count("writes_total", kind="Pod", verb="create")
    metrics.count("writes_total", kind="Pod", verb="delete")

    assert metrics.text() == (
        "# HELP test_writes_total Writes that succeeded.\n"
        "# TYPE test_writes_total counter\n"
        'test_writes_total{kind="Pod",verb="create"} 2\n'
        'test_writes_total{kind="Pod",verb="delete"} 1\n'
    )


def test_a_gauge_keeps_its_last_value(metrics: Registry) -> None:
    metrics.set("form", 1.0)
    metrics.set("form", 0.25)

    assert metrics.text().endswith("test_form 0.25\n")


def test_a_gauge_of_exclusive_states_drops_the_old_ones(metrics: Registry) -> None:
    metrics.only("form", "form", {"separate": 1.0})
    metrics.only("form", "form", {"fixed": 1.0})

    assert "separate" not in metrics.text()


def test_a_metric_that_nobody_defined_is_our_mistake(metrics: Registry) -> None:
    with pytest.raises(KeyError):
        metrics.count("reads_total")


@given(st.text())
def test_a_label_value_never_breaks_its_line(value: str) -> None:
    metrics = Registry("test_", DEFINITIONS)

    metrics.count("writes_total", kind=value)

    lines = metrics.text().split("\n")
    assert len(lines) == 4
    quoted = lines[2].removeprefix('test_writes_total{kind="').removesuffix('"} 1')
    assert re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), quoted) == value
