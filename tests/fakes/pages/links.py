"""The links of a page to other pages and to headings, and the names by which headings are reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token


def broken_links(page: Path, root: Path) -> list[str]:
    """Return the links of a page that lead nowhere, or out of the project; others' sites are not asked."""
    return [
        link for link in links(page.read_text(encoding="utf-8")) if not _leads_somewhere(link, page, root)
    ]


def links(text: str) -> Iterator[str]:
    """Yield the targets of all links and pictures of a page, but those of other sites."""
    for token in _inline(MarkdownIt("commonmark").enable("table").parse(text)):
        target = str(token.attrs.get("href") or token.attrs.get("src") or "")
        if target and not re.match(r"[a-z]+:", target):
            yield unquote(target)


def anchors(text: str) -> set[str]:
    """Return the names of a page's headings as GitHub and the built site make them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    names: set[str] = set()
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            plain = "".join(
                one.content for one in inline.children or () if one.type in {"text", "code_inline"}
            )
            name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            names.add(name if name not in names else f"{name}-{sum(one.startswith(name) for one in names)}")
    return names


def _inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _inline(token.children or [])


def _leads_somewhere(link: str, page: Path, root: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(root) or not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target.read_text(encoding="utf-8")))
