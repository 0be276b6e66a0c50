"""What every page keeps: links that lead somewhere, commands that are tested, words that a stranger knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import ROOT, name_of, pages, user_pages
from pages.blocks import blocks, blocks_of
from pages.links import anchors, broken_links

PROGRAMS = re.compile(
    r"(?:\$ |sudo )?(?:kubectl|tangram|\.venv/bin/\w+|make|helm|kind|podman|docker|pip|uvx|python3?) "
)
HOUSE_WORDS = re.compile(r"\b(doors?|shelf|shelves|news|specimens?)\b", re.IGNORECASE)
EVERY_PAGE = [*pages(), *sorted((ROOT / "docs/decisions").glob("*.md")), ROOT / "CHANGELOG.md"]


def by_name(page: Path) -> str:
    return name_of(page)


@pytest.mark.parametrize("page", EVERY_PAGE, ids=by_name)
def test_every_link_to_a_page_or_a_heading_leads_there(page: Path) -> None:
    assert broken_links(page, ROOT) == []


@pytest.mark.parametrize("page", pages(), ids=by_name)
def test_every_block_says_its_language(page: Path) -> None:
    """``sh`` and ``console`` are commands, ``text`` is for people's eyes, all others are files."""
    assert [f"line {one.line}" for one in blocks_of(page) if not one.language] == []


@pytest.mark.parametrize("page", pages(), ids=by_name)
def test_every_block_of_commands_is_run_or_tested_or_says_why_not(page: Path) -> None:
    unmarked = [f"line {one.line}" for one in blocks_of(page) if one.has_commands and one.marker is None]

    assert unmarked == []


@pytest.mark.parametrize("page", [page for page in pages() if page.name != "cli.md"], ids=by_name)
def test_no_command_hides_in_a_block_of_another_language(page: Path) -> None:
    hidden = [
        f"line {one.line}: {line}"
        for one in blocks_of(page)
        if one.language == "text"
        for line in one.text.splitlines()
        if PROGRAMS.match(line)
    ]

    assert hidden == []


@pytest.mark.parametrize("page", pages(), ids=by_name)
def test_every_test_that_a_block_names_exists(page: Path) -> None:
    named = [test for one in blocks_of(page) if one.marker for test in one.marker.tests]

    assert [test for test in named if not exists(test)] == []


@pytest.mark.parametrize("page", user_pages(), ids=by_name)
def test_a_page_for_users_has_no_word_that_only_developers_know(page: Path) -> None:
    assert HOUSE_WORDS.findall(page.read_text(encoding="utf-8")) == []


def test_a_block_has_the_marker_of_the_comment_just_before_it() -> None:
    run = "<!-- run -->\n```sh\ntrue\n```\n"
    text = f"{run}\n<!-- not run: it needs\na GPU -->\n```sh\nfalse\n```\n\n```sh\n```\n"

    found = [(one.line, one.marker and (one.marker.how, one.marker.what)) for one in blocks(text)]

    assert found == [(2, ("run", "")), (8, ("not run", "it needs a GPU")), (12, None)]


@pytest.mark.parametrize("comment", ["not run", "run: x", "tested by", "runs", "not run:"])
def test_a_comment_that_says_nothing_of_tests_is_no_marker(comment: str) -> None:
    (found,) = blocks(f"<!-- {comment} -->\n```sh\ntrue\n```\n")

    assert found.marker is None


def test_a_link_to_a_heading_or_page_that_does_not_exist_is_broken(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "# Two words\n[a](#two-words) [b](#three) [c](b.md) [d](https://example.com/x) [e](../../etc)\n"
    )

    assert broken_links(page, tmp_path) == ["#three", "b.md", "../../etc"]


def test_equal_headings_have_numbered_anchors() -> None:
    assert anchors("# A `b`, c!\n## Same\n## Same\n") == {"a-b-c", "same", "same-1"}


def exists(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / file
    return (
        path.is_file() and re.search(rf"^def {re.escape(name)}\(", path.read_text(), re.MULTILINE) is not None
    )
