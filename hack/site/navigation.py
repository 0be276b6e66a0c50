"""What the site of the pages has: its navigation, and the files that its pages link to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

INDEX: Final = "docs/index.md"
"""The page whose headings and tables are the navigation."""

DECISIONS: Final = "docs/decisions"
DECISIONS_INDEX: Final = f"{DECISIONS}/index.md"
"""A page that only the site has: the decisions as a list, where a repository shows the folder."""

PAGES: Final = {
    "README.md": "readme.html",
    "SECURITY.md": "security.html",
    "CONTRIBUTING.md": "contributing.html",
    "CHANGELOG.md": "changelog.html",
    "tests/data/records/README.md": "tests/data/records/index.html",
}
"""The pages outside docs/, and where the site has them."""

EXAMPLES: Final = "deploy/examples"
"""The folder whose files the site has as they are."""

_TITLES: Final = {"README.md": "What Tangram is"}
_SECTION: Final = re.compile(r"## (.+)")
_LINK: Final = re.compile(r"\]\(([^)#]+)\)")
_NAMED_AS_FILE: Final = re.compile(r"\[`?[\w./-]+\.md`?\]\(([\w./-]+\.md)(#[^)]*)?\)")
_FOLDER: Final = re.compile(r"\]\(((?:docs/)?decisions)/?\)")

Section = dict[str, list[str | dict[str, str]]]


def navigation(index: str) -> list[Section]:
    """Return the sections of the index in its order, each with its pages as paths below the root."""
    sections: list[Section] = []
    for line in index.splitlines():
        if heading := _SECTION.fullmatch(line):
            sections.append({heading[1]: []})
        elif line.startswith("| ["):
            (pages,) = sections[-1].values()
            pages += [_titled(_below_root(link)) for link in _LINK.findall(line.split("|")[1])]
    return sections


def named_pages(sections: list[Section]) -> list[str]:
    """Return the paths of all pages of a navigation."""
    entries = [entry for section in sections for pages in section.values() for entry in pages]
    return [path for entry in entries for path in (entry.values() if isinstance(entry, dict) else [entry])]


def with_titles(text: str, folder: Path) -> str:
    """Return a page of the folder with the titles of pages where its links have the names of their files."""

    def titled(link: re.Match[str]) -> str:
        return f"[{title_of(folder / link[1])}]({link[1]}{link[2] or ''})"

    return _NAMED_AS_FILE.sub(titled, text)


def with_index(text: str) -> str:
    """Return a page whose links to the folder of the decisions lead to the list of them."""
    return _FOLDER.sub(r"](\1/index.md)", text)


def decisions_index(root: Path) -> str:
    """Return the list of the decisions as a page, the newest first."""
    pages = sorted((root / DECISIONS).glob("[0-9]*.md"), reverse=True)
    return "# Decisions\n\n" + "".join(f"- [{title_of(page)}]({page.name})\n" for page in pages)


def title_of(page: Path) -> str:
    """Return the first heading of a page; all pages begin with it."""
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").strip()


def _below_root(link: str) -> str:
    if f"docs/{link}" == DECISIONS:
        return DECISIONS_INDEX
    return link.removeprefix("../") if link.startswith("../") else f"docs/{link}"


def _titled(path: str) -> str | dict[str, str]:
    return {_TITLES[path]: path} if path in _TITLES else path
