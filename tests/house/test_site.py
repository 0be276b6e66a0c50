"""The site has every page and every file that pages link to; ``make site`` builds it, no test does."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from navigation import (
    DECISIONS,
    DECISIONS_INDEX,
    EXAMPLES,
    INDEX,
    PAGES,
    decisions_index,
    named_pages,
    navigation,
    with_index,
    with_titles,
)
from pages import ROOT, name_of, pages
from pages.links import links

EVERY_PAGE = [*pages(), *sorted((ROOT / DECISIONS).glob("*.md")), *(ROOT / page for page in PAGES)]
BLOCKS = {"bullet_list_open", "ordered_list_open", "table_open", "heading_open"}


def on_the_site(path: str) -> bool:
    """Whether the site has a file, given by its path below the root."""
    return path in PAGES or path == DECISIONS or path.startswith(("docs/", f"{EXAMPLES}/"))


def test_the_navigation_has_every_page_once() -> None:
    named = named_pages(navigation((ROOT / INDEX).read_text(encoding="utf-8")))

    own = {"CHANGELOG.md", DECISIONS_INDEX}
    assert sorted(named) == sorted({*(name_of(page) for page in pages()), *own} - {INDEX})


def test_every_page_of_the_navigation_exists_and_is_on_the_site() -> None:
    named = named_pages(navigation((ROOT / INDEX).read_text(encoding="utf-8")))

    missing = [page for page in named if page != DECISIONS_INDEX and not (ROOT / page).is_file()]
    assert (missing, [page for page in named if not on_the_site(page)]) == ([], [])


@pytest.mark.parametrize("page", dict.fromkeys(EVERY_PAGE), ids=name_of)
def test_every_file_that_a_page_links_to_is_on_the_site(page: Path) -> None:
    linked = (link.partition("#")[0] for link in links(page.read_text(encoding="utf-8")))
    paths = [(page.parent / link).resolve().relative_to(ROOT).as_posix() for link in linked if link]

    assert [path for path in paths if not on_the_site(path)] == []


@pytest.mark.parametrize("page", dict.fromkeys(EVERY_PAGE), ids=name_of)
def test_an_empty_line_or_a_comment_stands_before_each_list_table_and_heading(page: Path) -> None:
    """Without it the site's Markdown takes them for more lines of the paragraph or table before."""
    assert blocks_without_a_line_before(page.read_text(encoding="utf-8")) == []


def test_a_list_or_heading_that_continues_the_block_before_is_found() -> None:
    text = "# A\n\ntext\n- one\n\n| a |\n|---|\n| b |\n## B\n\n<!-- c -->\n- two\n"

    assert blocks_without_a_line_before(text) == [4, 9]


def test_sections_and_pages_come_in_the_order_of_the_index() -> None:
    index = "# All\n\n## Try\n\n| page | for |\n|---|---|\n| [R](../README.md) | x |\n\n## Know\n\n"
    rows = "| [a.md](a.md), [b.md](b.md) | [not](this.md) |\n| [why](decisions) | y |\n"

    assert navigation(index + rows) == [
        {"Try": [{"What Tangram is": "README.md"}]},
        {"Know": ["docs/a.md", "docs/b.md", DECISIONS_INDEX]},
    ]


def test_a_link_named_as_a_file_is_named_by_the_title_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Of `a`\n\n## More\n")

    text = "[a.md](a.md#more), [`a.md`](a.md), [this](a.md)"
    assert with_titles(text, tmp_path) == "[Of `a`](a.md#more), [Of `a`](a.md), [this](a.md)"


def test_links_to_the_folder_of_the_decisions_lead_to_their_list() -> None:
    assert with_index("[a](docs/decisions), [b](decisions), [c](decisions/0001-x.md)") == (
        "[a](docs/decisions/index.md), [b](decisions/index.md), [c](decisions/0001-x.md)"
    )


def test_the_list_of_the_decisions_has_each_with_its_title_the_newest_first(tmp_path: Path) -> None:
    folder = tmp_path / DECISIONS
    folder.mkdir(parents=True)
    (folder / "0001-a.md").write_text("# 0001 A\n")
    (folder / "0002-b.md").write_text("# 0002 B\n")

    assert decisions_index(tmp_path) == "# Decisions\n\n- [0002 B](0002-b.md)\n- [0001 A](0001-a.md)\n"


def blocks_without_a_line_before(text: str) -> list[int]:
    """Return the numbers of the lines where a list, table or heading follows other text directly."""
    lines = text.splitlines()
    starts = (
        token.map[0]
        for token in MarkdownIt("commonmark").enable("table").parse(text)
        if token.type in BLOCKS and token.level == 0 and token.map
    )
    return [start + 1 for start in starts if start and not _ends_a_block(lines[start - 1])]


def _ends_a_block(line: str) -> bool:
    return not line.strip() or line.endswith("-->")
