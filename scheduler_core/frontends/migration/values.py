"""What a migration takes and returns."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, count
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document


@dataclass(frozen=True, slots=True)
class Asked:
    """What a container asks for with one name of a device plugin.

    Shape: ``name`` a DNS label for the request; ``expression`` a selector beside the class, empty for none.
    """

    name: str
    class_name: str
    expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCarried:
    """What has nothing here that means the same, and stays as it was.

    Shape: ``place`` is ``file:line``; ``subject`` kind and name of the object; ``path`` the field, empty for
           the object as a whole; ``reason`` a sentence.
    """

    place: str
    subject: str
    path: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.place}: {self.subject}: {where}{self.reason}"


@dataclass(frozen=True, slots=True)
class Migration:
    """Documents in the order of those given; a new template stands before the object that names it."""

    documents: Sequence[Document]
    not_carried: Sequence[NotCarried]


@dataclass(frozen=True, slots=True)
class Note:
    """A field of one object that is not carried over."""

    path: str
    reason: str


@dataclass(slots=True)
class Notes:
    """Collects what is not carried over of one object."""

    found: list[Note] = field(default_factory=list)

    def add(self, path: str, reason: str) -> None:
        """Add a field, each sentence once."""
        note = Note(path, reason)
        if note not in self.found:
            self.found.append(note)

    def covers(self, path: str) -> bool:
        """Whether a field, or one above it, is not carried over."""
        return any(
            not one.path or path == one.path or path.startswith((f"{one.path}.", f"{one.path}["))
            for one in self.found
        )


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object) -> Iterator[tuple[int, Any]]:
    """Yield the entries of a value with their indexes where it is a list."""
    yield from enumerate(value if isinstance(value, list | tuple) else ())


def free_name(base: str, taken: Container[object]) -> str:
    """Return ``base``, or the first of ``base-2``, ``base-3`` and so on that is not taken."""
    numbered = (f"{base}-{number}" for number in count(2))
    return next(name for name in chain((base,), numbered) if name not in taken)
