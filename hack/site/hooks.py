"""What MkDocs does otherwise here: pages keep their places below the root, so that their links hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from diagrams import with_pictures
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from navigation import (
    DECISIONS,
    DECISIONS_INDEX,
    EXAMPLES,
    INDEX,
    PAGES,
    decisions_index,
    navigation,
    with_index,
    with_titles,
)

ROOT: Final = Path(__file__).resolve().parents[2]
_ASSETS: Final = ("site.css", "favicon.svg", "iframe-worker.js")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the index of the pages."""
    config.nav = [{"All pages": INDEX}, *navigation((ROOT / INDEX).read_text(encoding="utf-8"))]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Give each file of docs/ its path below the root, and add what pages link to outside of docs/."""
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
        files.append(_file(config, f"docs/{file.src_uri}", file.dest_uri))
    for page, place in PAGES.items():
        files.append(_file(config, page, place))
    for example in sorted((ROOT / EXAMPLES).rglob("*.yaml")):
        path = example.relative_to(ROOT).as_posix()
        files.append(_file(config, path, path))
    for name in _ASSETS:
        files.append(_file(config, f"hack/site/{name}", f"assets/{name}"))
    listed = File.generated(config, DECISIONS_INDEX, content=decisions_index(ROOT))
    listed.dest_uri = "decisions/index.html"
    files.append(listed)
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Name pages by their titles, draw diagrams, and find what users ask for before the decisions."""
    source = page.file.src_uri
    if source.startswith(f"{DECISIONS}/"):
        page.meta.setdefault("search", {"boost": 0.3})
    return with_pictures(with_titles(with_index(markdown), (ROOT / source).parent))


def _file(config: MkDocsConfig, path: str, place: str) -> File:
    return File(path, str(ROOT), config.site_dir, use_directory_urls=False, dest_uri=place)
