"""What every reader of documents gives and refuses, and the bounds of what is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_BYTES: Final = 64 * 2**20
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 2_000_000  # what aliases unfold to counts too
TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"
_SHOWN: Final = 200

Progress = Callable[[int], None]
"""Is told now and then how many characters of a text have been read."""


class NotReadable(Exception):
    """A text that is not made of plain documents.

    Shape: ``place`` is ``file``, ``file:line`` or ``file:line:column``.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text. Shape: ``place`` is ``file`` or ``file:line``, for messages."""

    place: str
    content: object


def shown(value: object) -> str:
    """Return a value as messages name it, long ones in part."""
    return repr(value)[:_SHOWN]
