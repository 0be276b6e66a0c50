"""The Markdown pages of the project: their blocks, links and words, and their commands as they are run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
_FOR_DEVELOPERS: Final = frozenset(
    f"docs/{name}.md"
    for name in (
        *("architecture", "benchmarks", "chaos", "claim-life", "engine", "failures", "faults", "glossary"),
        *("plan", "semantics", "walkthrough"),
    )
)


def pages() -> tuple[Path, ...]:
    """Return every page whose commands are checked: all but the decisions and the log of changes."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/migrate").glob("*.md")]
    return tuple(sorted(page for page in found if page.name != "CHANGELOG.md"))


def user_pages() -> tuple[Path, ...]:
    """Return the pages for people who use the driver, not for those who develop it."""
    developers = {*_FOR_DEVELOPERS, "CONTRIBUTING.md"}
    return tuple(page for page in pages() if name_of(page) not in developers)


def name_of(page: Path) -> str:
    """Return the path of a page below the root of the project."""
    return page.relative_to(ROOT).as_posix()
