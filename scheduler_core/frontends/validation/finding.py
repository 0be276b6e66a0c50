"""One thing that is wrong, or may be, in a document."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from scheduler_core.base.errors import InvalidInput, message
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import subject_of


class Level(StrEnum):
    """How certain a finding is: an error is refused by somebody, a warning may be meant so."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong with one object.

    Shape: ``place`` is ``file:line``; ``subject`` is the kind and name of the object; ``path`` is the field,
           dotted and with indexes, empty for the object as a whole; ``text`` is a sentence.
    """

    level: Level
    place: str
    subject: str
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.subject}: {self.text}"


@dataclass(frozen=True, slots=True)
class Reporter:
    """Makes the findings of one document."""

    document: Document

    @property
    def subject(self) -> str:
        """Return the kind and name of the object."""
        return subject_of(self.document.content, str(self.document.content.get("kind")))

    def error(self, path: str, text: str) -> Finding:
        """Return a finding for what the API server or the driver will refuse."""
        return self._finding(Level.ERROR, path, text)

    def warning(self, path: str, text: str) -> Finding:
        """Return a finding for what is accepted and may be a mistake."""
        return self._finding(Level.WARNING, path, text)

    def refused(self, error: InvalidInput) -> Finding:
        """Return a refusal of a codec. Its sentence begins with the field, since the object is told apart."""
        text = message(error.field, "", error.value, error.rule) if error.field else error.rule
        return self.error(error.field, text)

    def _finding(self, level: Level, path: str, text: str) -> Finding:
        place = self.document.place
        return Finding(level=level, place=place, subject=self.subject, path=path, text=text)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether one of the findings is an error."""
    return any(one.level is Level.ERROR for one in findings)
