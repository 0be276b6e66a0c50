"""The commands of the pages do what the pages say, in their order, in a folder like a clone."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from pages import name_of, pages
from pages.blocks import blocks_of
from pages.sessions import Exchange, PageDiffers, agrees, check, clone, exchanges
from pages.worlds import WORLDS

RUN = [page for page in pages() if any(one.is_run for one in blocks_of(page))]


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_commands_of_a_page_print_what_it_says(page: Path) -> None:
    with ExitStack() as stack:
        shells = {"": stack.enter_context(clone())}
        for block in blocks_of(page):
            if not block.is_run:
                continue
            assert block.marker is not None
            world = block.marker.what
            if world not in shells:
                shells[world] = stack.enter_context(clone())
                stack.enter_context(WORLDS[world](shells[world]))
            check(block, shells[world])


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
    named = {
        one.marker.what
        for page in pages()
        for one in blocks_of(page)
        if one.marker and one.marker.how == "run in"
    }

    assert named <= WORLDS.keys()
