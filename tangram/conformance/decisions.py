"""Decision records: which themes they decide, where the specification leaves a case open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass

SHIPPED: Final = Path(__file__).parents[2] / "docs" / "decisions"
"""The records of this project. An installed package has none: its cases decide nothing."""

_NAMED: Final = re.compile(r"`([a-z0-9-]+)`")


@dataclass(frozen=True, slots=True)
class Decisions:
    """The themes that records name. Shape: theme to the file name of the record."""

    themes: Mapping[str, str] = field(default_factory=dict)

    def of(self, theme: str) -> str | None:
        """Return the record that decides a theme, None where it is open."""
        return self.themes.get(theme)


def read_decisions(folder: Path = SHIPPED) -> Decisions:
    """Read the records of a folder: a record decides the themes that it names in backquotes."""
    themes: dict[str, str] = {}
    for record in sorted(folder.glob("*.md")):
        for theme in _NAMED.findall(record.read_text(encoding="utf-8")):
            themes.setdefault(theme, record.name)
    return Decisions(themes)
