"""The page about health has the table of causes that agent and plugin use."""

from __future__ import annotations

import pytest
from health_causes import BEGIN, BEGIN_XIDS, END, END_XIDS, PAGE, in_ranges, main, with_causes

from agent.health.causes import Cause
from agent.health.xids import CATALOG

XIDS = f"{BEGIN_XIDS}{END_XIDS}"


def test_the_page_is_as_the_table_has_it() -> None:
    assert main(["--check"]) == 0


def test_every_cause_is_a_row_of_the_page() -> None:
    page = with_causes(f"{BEGIN}{END}{XIDS}")
    assert all(f"| `{cause}` |" in page for cause in Cause)


def test_what_stands_around_the_table_stays() -> None:
    drawn = with_causes(f"before\n{BEGIN}old\n{END}\nbetween\n{XIDS}\nafter\n")

    assert drawn.startswith("before\n")
    assert f"{END}\nbetween\n{BEGIN_XIDS}" in drawn
    assert drawn.endswith("after\n")


def test_every_action_of_the_catalog_is_a_row_of_the_page() -> None:
    page = with_causes(f"{BEGIN}{END}{XIDS}")
    assert all(f"| {action} |" in page for action in CATALOG)


def test_numbers_that_follow_each_other_are_a_range() -> None:
    assert in_ranges((41, 8, 39, 40, 11, 82, 83)) == "8, 11, 39-41, 82, 83"


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="causes"):
        with_causes(PAGE.name)
