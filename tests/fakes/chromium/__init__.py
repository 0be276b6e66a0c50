"""A real Chromium for tests of pages, and why there is none. It never downloads a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import needs
from playwright.sync_api import Browser, Page, sync_playwright

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@contextmanager
def real_chromium() -> Iterator[Browser]:
    """A browser, or the test is skipped with the reason."""
    path = shutil.which("chromium")
    if path is None:
        needs.fail_or_skip(needs.BROWSER)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@contextmanager
def page_of(browser: Browser, width: int = 1280, height: int = 900, scheme: str = "light") -> Iterator[Page]:
    """A page in a window of a size. What its script does wrong, or its policy refuses, fails the test."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    try:
        yield page
    finally:
        page.close()
    assert wrong == []
