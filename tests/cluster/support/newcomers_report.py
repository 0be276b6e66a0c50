"""What a reader sees of a report in a real Chromium, and what the page asks the network for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chromium import page_of
from playwright.sync_api import Browser, expect


@dataclass(frozen=True, slots=True)
class Report:
    """What is on the page.

    Shape: ``holders`` of the node's devices as ``NAMESPACE/POD``; ``why`` the text of the pod that waits,
           with its details; ``requests`` the addresses that the page asked for, without its own.
    """

    title: str
    holders: frozenset[str]
    why: str
    requests: tuple[str, ...]


def shown(browser: Browser, file: Path, node: str, waiting: str) -> Report:
    """Open the report and one of its nodes. Errors on the console fail the test (``chromium.page_of``)."""
    asked: list[str] = []
    with page_of(browser) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.locator("summary", has_text=node).click()
        row = page.locator("#waiting li.pending", has_text=waiting)
        expect(row).to_have_count(1)
        row.locator("summary", has_text="what would help").click()
        return Report(
            title=page.title(),
            holders=frozenset(page.locator(".holders td a").all_inner_texts()),
            why=row.inner_text(),
            requests=tuple(url for url in asked if url != file.as_uri()),
        )
