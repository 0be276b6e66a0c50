"""Draws the pictures of docs/web.md: the page of a made-up cluster in Chromium, narrow and wide.

``make web-pictures`` runs it. No test compares the pictures: each version of a browser draws other pixels.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/fakes"), str(ROOT)]

import page_objects  # noqa: E402 - found by the lines above
from chromium import page_of, real_chromium  # noqa: E402

from daemon.page.hub import Hub  # noqa: E402
from daemon.page.server import serving_page  # noqa: E402
from scheduler_core.codec.documents import Document  # noqa: E402
from tangram.page.file_cluster import FileCluster  # noqa: E402
from tangram.page.report import page_of as value_of  # noqa: E402

_FOLDER: Final = ROOT / "docs/pictures"
_SHOTS: Final = (
    ("web-wide-light", 1280, 1180, "light", "node=dgx-1"),
    ("web-wide-dark", 1280, 760, "dark", ""),
    ("web-narrow-light", 400, 1100, "light", ""),
    ("web-narrow-dark", 400, 1100, "dark", "node=dgx-1"),
)


def main() -> None:
    """Draw all pictures."""
    _FOLDER.mkdir(exist_ok=True)
    objects = page_objects.small_cluster()
    cluster = FileCluster(Document(f"object {at}", one) for at, one in enumerate(objects))
    value = value_of(cluster, page_objects.DRIVER, "context demo")
    points = [
        {"at": 1777881600 + 60 * at, "use": share / 100, "fragmentation": lost / 100}
        for at, (share, lost) in enumerate(zip(_USE, _LOST, strict=True))
    ]
    hub = Hub({**value, "live": True, "made": "2026-05-04T08:23:00Z", "history": points})
    with real_chromium() as browser, serving_page(("127.0.0.1", 0), hub, is_local=True) as port:
        for name, width, height, scheme, anchor in _SHOTS:
            with page_of(browser, width, height, scheme) as page:
                page.goto(f"http://127.0.0.1:{port}/#{anchor}")
                page.locator(".state.live").wait_for()
                page.locator(".node").first.wait_for()
                page.screenshot(path=_FOLDER / f"{name}.png")


_USE: Final = (5, 8, 12, 12, 15, 20, 24, 24, 26, 30, 29, 33, 38, 36, 35, 34, 30, 28, 30, 33, 32, 35, 34, 32)
_LOST: Final = (0, 0, 2, 2, 4, 6, 5, 8, 9, 9, 12, 14, 15, 14, 16, 13, 12, 12, 10, 11, 13, 12, 14, 13)


if __name__ == "__main__":
    main()
