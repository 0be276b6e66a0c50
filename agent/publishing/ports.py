"""What the publisher needs of the cluster and of the machine. Objects are plain JSON documents.

``agent.api`` and ``agent.hardware`` implement these. Every call to the server may raise a ``ServerError``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from scheduler_core.publishing.documents import Document


@dataclass(frozen=True, slots=True)
class Heard:
    """The watch reported something.

    Shape: ``is_new`` if ``documents`` changed, or are complete for the first time.
    """

    is_new: bool


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The watch broke and will be repeated. Units: ``retry_in_s`` seconds."""

    reason: str
    retry_in_s: float


WatchMessage = Heard | Interrupted


class SliceStore(Protocol):
    """The objects of one kind that belong to this node and driver.

    It keeps a copy of them, from its watch and from its own writes. Safe between threads.
    """

    @property
    def kind(self) -> str:
        """Return the kind, as messages name it."""
        ...

    @property
    def is_listed(self) -> bool:
        """Whether all objects were listed once, so that ``documents`` are complete."""
        ...

    def documents(self) -> tuple[Document, ...]:
        """Return the objects as far as they are known, by name. Our own writes are in them at once."""
        ...

    def create(self, document: Document, *, dry_run: bool = False) -> Document:
        """Create an object and return it as the server stores it; a dry run stores nothing.

        Raises: NameTaken if an object of somebody else has the name, Outdated if one of this node has it;
                Refused; NotThere if the kind is not installed.
        """
        ...

    def replace(self, document: Document) -> Document:
        """Replace an object if it still has the version in the document. Raises: Outdated, NotThere."""
        ...

    def delete(self, name: str, uid: str, resource_version: str) -> None:
        """Delete an object if it still has this version. Raises: Outdated, NotThere."""
        ...

    def changes(self, stop: threading.Event) -> Iterator[WatchMessage]:
        """Keep ``documents`` up to date until ``stop`` is set; yield a message for each event.

        A broken watch is repeated inside; only failures that do not pass by waiting are raised.
        Raises: NotThere if the kind is not installed; NotAllowed.
        """
        ...


class Watched(Protocol):
    """Something at the server that is kept up to date."""

    @property
    def kind(self) -> str:
        """Return the kind, as messages name it."""
        ...

    def changes(self, stop: threading.Event) -> Iterator[WatchMessage]:
        """Keep it up to date until ``stop`` is set; yield a message for each event. Raises: NotAllowed."""
        ...


class OwnNode(Watched, Protocol):
    """The Node object of this node, as far as it says who allocates the devices. Safe between threads."""

    @property
    def allocator(self) -> str | None:
        """Return the label's value, empty without label or node, None before it is known."""
        ...


class GpusOfPools(Watched, Protocol):
    """The GPUs of this node that belong to pools of several nodes. Safe between threads."""

    @property
    def pools(self) -> Mapping[int, str] | None:
        """Return the pool of each such GPU by the GPU's minor, None before they are known."""
        ...


class Nodes(Protocol):
    """The Node objects."""

    def uid(self, name: str) -> str:
        """Return the UID of a node. Raises: NotThere."""
        ...


class NodeEvents(Protocol):
    """Writes events about this node, for people. Never fails and never waits long."""

    def warn(self, reason: str, text: str) -> None:
        """Report that something is wrong. Shape: ``reason`` in CamelCase."""
        ...

    def note(self, reason: str, text: str) -> None:
        """Report that something is better than before."""
        ...


Hear = Callable[[str], None]
"""Called with a short description of what happened."""


class MachineEvents(Protocol):
    """Reports when the machine may have changed."""

    def listen(self, hear: Hear, stop: threading.Event) -> None:
        """Call ``hear`` once it listens, then for every event until ``stop`` is set.

        Changes before the first call of ``hear`` are found by the discovery that follows it.
        """
        ...
