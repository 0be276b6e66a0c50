"""Versions in attributes: short and padded forms are read, and all are compared as semantic versions.

Drivers print ``12.6`` and ``560.35.03``, but API servers accept full semver 2.0 only. A version keeps its
text for the composite dialect and has a semver form for the v1 dialect.
Source: semver.org 2.0.0; upstream's validation of ``version`` values.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache, total_ordering
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass

_LOOSE: Final = re.compile(
    r"v?(?P<core>[0-9]{1,18}(?:\.[0-9]{1,18}){0,2})"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_NUMBERS: Final = 10**18
"""Numbers have at most 18 digits, so that they are integers of 64 bits. Source: API server 1.38."""
RULE: Final = (
    "must be a version such as 12.6, 560.35.03 or 1.2.3-rc.1, of at most 64 characters, "
    "with at most 18 digits in a number"
)
_Identifier = tuple[int, int, str]
_Key = tuple[int, int, int, int, tuple[_Identifier, ...]]


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version. Versions are compared by semver precedence, which ignores build metadata."""

    text: str
    key: _Key = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read a version. Short forms and leading zeros are allowed.

        Raises: ValueError with the text and the rule.
        """
        match = _LOOSE.fullmatch(text) if len(text) <= 64 else None
        if match is None:
            raise ValueError(f"{text!r} {RULE}")
        major, minor, patch = ([int(part) for part in match["core"].split(".")] + [0, 0])[:3]
        pre = tuple(_identifier(part) for part in match["pre"].split(".")) if match["pre"] else ()
        if any(number >= _NUMBERS for _, number, _ in pre):
            raise ValueError(f"{text!r} {RULE}")
        return cls(text, (major, minor, patch, 0 if pre else 1, pre))

    @property
    def semver(self) -> str:
        """Return the full semver 2.0 form: ``12.6`` is ``12.6.0``, ``560.35.03`` is ``560.35.3``."""
        return _semver(self.text, self.key[:3])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1024)
def _semver(text: str, core: tuple[int, ...]) -> str:
    match = _LOOSE.fullmatch(text)
    assert match is not None
    pre = ".".join(str(int(p)) if p.isdigit() else p for p in (match["pre"] or "").split("."))
    tail = ("-" + pre if pre else "") + ("+" + match["build"] if match["build"] else "")
    return f"{'.'.join(map(str, core))}{tail}"


def _identifier(part: str) -> _Identifier:
    """Return a sort key: numeric identifiers come first, by value. Source: semver 2.0, clause 11."""
    return (0, int(part), "") if part.isdigit() else (1, 0, part)
