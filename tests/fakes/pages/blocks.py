"""The fenced blocks of a page, and the comment before each that says how its commands are tested.

``<!-- run -->`` runs the commands as they are printed, ``<!-- run in: WORLD -->`` in a world that is prepared
for them, ``<!-- tested by: FILE::TEST -->`` names the test that does the same, ``<!-- not run: REASON -->``
says why none can.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

COMMANDS: Final = frozenset({"sh", "console"})
"""The languages of blocks with commands: a script, and a session with ``$`` before each command."""
_COMMENT: Final = re.compile(r"<!--\s*(.*?)\s*-->\s*", re.DOTALL)
_MARKER: Final = re.compile(r"(run|run in|tested by|not run)(?:: (.+))?", re.DOTALL)


@dataclass(frozen=True)
class Marker:
    """How the commands of a block are tested.

    Shape: ``how`` is ``run``, ``run in``, ``tested by`` or ``not run``; ``what`` the world, the tests, which
           are separated by commas, or the reason; empty for ``run``.
    """

    how: str
    what: str

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests of ``tested by``, as ``FILE::TEST``."""
        return tuple(one.strip() for one in self.what.split(",")) if self.how == "tested by" else ()


@dataclass(frozen=True)
class Block:
    """A fenced block: ``line`` is that of its opening fence, from 1; ``text`` what is between the fences."""

    line: int
    language: str
    text: str
    marker: Marker | None

    @property
    def has_commands(self) -> bool:
        """Whether a reader is meant to type what is in it."""
        return self.language in COMMANDS

    @property
    def is_run(self) -> bool:
        """Whether its commands are run as they are printed."""
        return self.marker is not None and self.marker.how in {"run", "run in"}


def blocks(text: str) -> tuple[Block, ...]:
    """Return the fenced blocks of a page in their order."""
    found, marker = [], None
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence":
            assert token.map is not None
            found.append(Block(token.map[0] + 1, token.info.strip(), token.content, marker))
        marker = _marker(token.content) if token.type == "html_block" else None
    return tuple(found)


def blocks_of(page: Path) -> tuple[Block, ...]:
    """Return the fenced blocks of a file in their order."""
    return blocks(page.read_text(encoding="utf-8"))


def _marker(comment: str) -> Marker | None:
    inner = _COMMENT.fullmatch(comment)
    found = inner and _MARKER.fullmatch(inner[1])
    if not found or (found[1] == "run") != (found[2] is None):
        return None
    return Marker(found[1], " ".join((found[2] or "").split()))
