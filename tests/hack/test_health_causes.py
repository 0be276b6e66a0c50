"""The page about health has the table of causes that agent and plugin use."""

from __future__ import annotations

import pytest
from health_causes import BEGIN, END, PAGE, main, with_causes

from agent.health.causes import Cause


def test_the_page_is_as_the_table_has_it() -> None:
    assert main(["--check"]) == 0


def test_every_cause_is_a_row_of_the_page() -> None:
    page = with_causes(f"{BEGIN}{END}")
    assert all(f"| `{cause}` |" in page for cause in Cause)


def test_what_stands_around_the_table_stays() -> None:
    assert with_causes(f"before\n{BEGIN}old\n{END}\nafter\n").startswith("before\n")
    assert with_causes(f"before\n{BEGIN}old\n{END}\nafter\n").endswith("after\n")


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="causes"):
        with_causes(PAGE.name)
