"""``docs/cli.md`` has every command as its parser prints it."""

from __future__ import annotations

import argparse

import pytest
from cli_page import BEGIN, END, PAGE, section, with_commands

from tangram.summaries import SUMMARIES


def test_the_page_says_what_the_parsers_say() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert with_commands(page) == page


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_has_a_section(name: str) -> None:
    assert f"\n## tangram {name}\n" in PAGE.read_text(encoding="utf-8")


def test_a_page_that_says_something_else_is_written_anew() -> None:
    found = with_commands(f"# Title\n\n{BEGIN}outdated text\n{END}\nmore\n")

    assert found.startswith(f"# Title\n\n{BEGIN}## tangram demo\n")
    assert found.endswith(f"{END}\nmore\n")
    assert "outdated text" not in found


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has no"):
        with_commands("# Title\n")


def test_a_section_is_the_help_of_the_parser() -> None:
    parser = argparse.ArgumentParser(prog="tangram thing")
    parser.add_argument("--size", help="how large")

    lines = list(section(parser))

    assert lines[:3] == ["## tangram thing", "", "```text"]
    assert "  --size SIZE  how large" in lines
