"""The commands of the pages do what the pages say, in their order, in a folder like a clone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import name_of, pages
from pages.blocks import blocks_of
from pages.sessions import Exchange, PageDiffers, agrees, check, clone, exchanges
from pages.worlds import WORLDS

RUN = sorted(
    {(page, one.marker.what) for page in pages() for one in blocks_of(page) if one.is_run and one.marker}
)
"""Each page with the worlds of its blocks; the usual one has no name."""


@pytest.mark.timeout(600)  # a page has up to twenty commands, each a process
@pytest.mark.parametrize(("page", "world"), RUN, ids=[f"{name_of(page)}-{world}" for page, world in RUN])
def test_the_commands_of_a_page_print_what_it_says(page: Path, world: str) -> None:
    with clone() as shell, WORLDS[world](shell):
        for block in blocks_of(page):
            if block.is_run and block.marker is not None and block.marker.what == world:
                check(block, shell)


def test_a_session_is_its_commands_with_what_each_prints() -> None:
    found = exchanges("$ one \\\n> two\na\n\nb\n$ three\n")

    assert found == (Exchange("one \\\ntwo", ("a", "", "b")), Exchange("three", ()))


@pytest.mark.parametrize(
    ("expected", "actual", "is_so"),
    [
        (("a", "b"), ("a", "b"), True),
        (("a",), ("a", "b"), False),
        (("a", " ...", "d"), ("a", "b", "c", "d"), True),
        (("a", "..."), ("a",), True),
        (("took … ms",), ("took 12 ms",), True),
        (("took … ms",), ("took 12 s",), False),
        (("a.c",), ("abc",), False),
    ],
)
def test_dots_stand_for_lines_and_an_ellipsis_for_text(
    expected: tuple[str, ...], actual: tuple[str, ...], is_so: bool
) -> None:
    assert agrees(expected, actual) is is_so


def test_a_command_that_prints_something_else_or_fails_is_told_with_its_line(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("<!-- run -->\n```console\n$ echo a\nb\n```\n\n<!-- run -->\n```sh\nfalse\n```\n")
    session, script = blocks_of(page)

    with clone() as shell:
        with pytest.raises(PageDiffers, match=r"line 2: echo a"):
            check(session, shell)
        with pytest.raises(PageDiffers, match=r"line 8: exit status 1"):
            check(script, shell)


def test_every_world_that_a_page_names_exists() -> None:
    assert {world for _, world in RUN} <= WORLDS.keys()
