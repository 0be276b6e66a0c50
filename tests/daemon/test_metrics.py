"""The text that Prometheus reads."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.metrics.definition import BUILD_INFO, Definition
from daemon.metrics.registry import Registry, set_build_info

DEFINITIONS = {
    "build_info": BUILD_INFO,
    "writes_total": Definition("counter", "Writes that succeeded.", ("kind", "verb")),
    "looks_total": Definition("counter", "Looks."),
    "form": Definition("gauge", "1 for the present form.", ("form",)),
    "age": Definition("gauge", "Its age."),
    "seconds": Definition("histogram", "How long it took.", ("of",), (0.1, 1.0)),
    "device_info": Definition("gauge", "1 for a device.", ("uuid",), prefix="tangram_"),
}


@pytest.fixture
def metrics() -> Registry:
    return Registry("test_", DEFINITIONS)


def test_a_gauge_without_a_value_is_not_shown(metrics: Registry) -> None:
    assert "test_age" not in metrics.text()
    assert "test_form" not in metrics.text()


def test_a_counter_without_labels_begins_at_zero_so_that_its_first_rise_is_seen(metrics: Registry) -> None:
    assert "\ntest_looks_total 0.0\n" in metrics.text()


def test_a_counter_has_its_help_its_type_and_one_line_for_each_set_of_labels(metrics: Registry) -> None:
    metrics.count("writes_total", verb="create", kind="Pod")
    metrics.count("writes_total", kind="Pod", verb="create")
    metrics.count("writes_total", kind="Pod", verb="delete")

    assert (
        "# HELP test_writes_total Writes that succeeded.\n"
        "# TYPE test_writes_total counter\n"
        'test_writes_total{kind="Pod",verb="create"} 2.0\n'
        'test_writes_total{kind="Pod",verb="delete"} 1.0\n'
    ) in metrics.text()


def test_a_gauge_keeps_its_last_value(metrics: Registry) -> None:
    metrics.set("age", 1.0)
    metrics.set("age", 0.25)

    assert "\ntest_age 0.25\n" in metrics.text()


def test_what_is_added_counts_from_the_value_that_was_set_before(metrics: Registry) -> None:
    metrics.add("age", 1.0)
    metrics.set("age", 10.0)
    metrics.add("age", -2.0)
    metrics.add("age", 0.5)

    assert "\ntest_age 8.5\n" in metrics.text()


def test_states_that_are_replaced_forget_what_was_added_before(metrics: Registry) -> None:
    metrics.add("form", 5.0, form="one")
    metrics.only("form", "form", {"two": 1.0})

    assert 'form="one"' not in metrics.text()


def test_what_nobody_reads_is_added_all_the_same(metrics: Registry) -> None:
    for _ in range(1000):
        metrics.count("looks_total")
        metrics.observe("seconds", 0.5, of="a look")

    assert "\ntest_looks_total 1000.0\n" in metrics.text()
    assert 'test_seconds_bucket{le="1.0",of="a look"} 1000.0' in metrics.text()


def test_a_wrong_label_is_refused_where_it_is_named(metrics: Registry) -> None:
    for act in (metrics.count, partial(metrics.observe, value=1.0)):
        with pytest.raises(ValueError, match="verb"):
            act("writes_total", verb="create")


def test_what_a_kind_cannot_take_is_refused_where_it_is_given_and_spoils_no_other_metric(
    metrics: Registry,
) -> None:
    for problem, act in {
        "cannot be added to a counter": partial(metrics.add, "looks_total", -1.0),
        "cannot be added to a histogram": partial(metrics.add, "seconds", 1.0, of="a look"),
        "a gauge observes nothing": partial(metrics.observe, "age", 1.0),
    }.items():
        with pytest.raises(ValueError, match=problem):
            act()
    metrics.set("age", 2.0)

    assert "\ntest_age 2.0\n" in metrics.text()


def test_threads_that_add_at_the_same_time_lose_nothing(metrics: Registry) -> None:
    def many() -> None:
        for _ in range(2000):
            metrics.count("looks_total")

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(many)

    assert "\ntest_looks_total 8000.0\n" in metrics.text()


def test_a_gauge_of_exclusive_states_drops_the_old_ones(metrics: Registry) -> None:
    metrics.only("form", "form", {"separate": 1.0})
    metrics.only("form", "form", {"fixed": 1.0})

    assert "separate" not in metrics.text()


def test_a_histogram_counts_values_up_to_each_bound(metrics: Registry) -> None:
    for took_s in (0.05, 0.5, 5.0):
        metrics.observe("seconds", took_s, of="prepare")

    text = metrics.text()
    assert 'test_seconds_bucket{le="0.1",of="prepare"} 1.0\n' in text
    assert 'test_seconds_bucket{le="1.0",of="prepare"} 2.0\n' in text
    assert 'test_seconds_bucket{le="+Inf",of="prepare"} 3.0\n' in text
    assert 'test_seconds_sum{of="prepare"} 5.55\n' in text


def test_a_metric_may_have_a_prefix_of_its_own(metrics: Registry) -> None:
    metrics.set("device_info", 1.0, uuid="GPU-1")

    assert '\ntangram_device_info{uuid="GPU-1"} 1.0\n' in metrics.text()


def test_the_program_says_its_version_and_that_of_python(metrics: Registry) -> None:
    set_build_info(metrics)

    assert re.search(r'\ntest_build_info\{python="3\.\d+\.\S+",version="\d\S+"\} 1\.0\n', metrics.text())


def test_no_series_tells_when_another_one_began(metrics: Registry) -> None:
    metrics.count("writes_total", kind="Pod", verb="create")

    assert "_created" not in metrics.text()


def test_a_metric_that_nobody_defined_is_our_mistake(metrics: Registry) -> None:
    with pytest.raises(KeyError):
        metrics.count("reads_total")


def test_labels_that_a_metric_does_not_have_are_our_mistake(metrics: Registry) -> None:
    with pytest.raises(ValueError, match="label"):
        metrics.count("writes_total", kind="Pod")


@given(st.text())
def test_a_label_value_never_breaks_its_line(value: str) -> None:
    metrics = Registry("test_", {"writes_total": Definition("counter", "Writes.", ("kind",))})

    metrics.count("writes_total", kind=value)

    lines = metrics.text().split("\n")
    assert len(lines) == 4
    quoted = lines[2].removeprefix('test_writes_total{kind="').removesuffix('"} 1.0')
    assert re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), quoted) == value


def test_what_changes_after_a_page_is_on_the_next_one(metrics: Registry) -> None:
    metrics.only("form", "form", {"separate": 1.0})
    metrics.count("looks_total")
    metrics.observe("seconds", 0.5, of="prepare")
    before = metrics.text()

    metrics.only("form", "form", {"separate": 1.0})
    assert metrics.text() == before
    metrics.only("form", "form", {"separate": 1.0, "fixed": 0.0})
    metrics.count("looks_total")
    metrics.observe("seconds", 0.5, of="prepare")

    text = metrics.text()
    assert 'test_form{form="fixed"} 0.0\n' in text
    assert "\ntest_looks_total 2.0\n" in text
    assert 'test_seconds_count{of="prepare"} 2.0\n' in text


def test_a_gauge_that_was_set_between_two_equal_replacements_is_replaced(metrics: Registry) -> None:
    metrics.only("form", "form", {"separate": 1.0})
    metrics.set("form", 5.0, form="separate")

    metrics.only("form", "form", {"separate": 1.0})

    assert 'test_form{form="separate"} 1.0\n' in metrics.text()
