"""The page in a real Chromium: a browser for all tests of a process, and files to open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import page_objects
import pytest
from chromium import real_chromium
from page_objects import Object
from playwright.sync_api import Browser

from daemon.page.document import document
from scheduler_core.codec.documents import Document
from tangram.page.file_cluster import FileCluster
from tangram.page.report import page_of


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with real_chromium() as browser:
        yield browser


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Sequence[Object]], str]:
    """Write the page of a cluster to a file and return its address."""

    def write(objects: Sequence[Object]) -> str:
        cluster = FileCluster(Document(f"object {at}", one) for at, one in enumerate(objects))
        value = page_of(cluster, page_objects.DRIVER, "a made-up cluster")
        path = tmp_path / "report.html"
        path.write_text(document(value), encoding="utf-8")
        return path.as_uri()

    return write
