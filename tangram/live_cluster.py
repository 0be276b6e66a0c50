"""A running cluster as a port: its objects are listed, created, deleted and watched.

Takes kinds, names and documents; returns documents and changes. Every failure is a BadInput with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any, Generic, Protocol

from scheduler_core.base.quick_dataclass import dataclass
from tangram.clusters import Reading, V

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listed(Generic[V]):
    """What was read of all objects of a kind; what is not among them is gone.

    Shape: ``unread`` are told with the reason.
    """

    found: tuple[V, ...]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told(Generic[V]):
    """What was read of one object that is new, has changed, or ``is_gone``; then it is the last state."""

    found: V
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class Unheard:
    """The server cannot be heard, or an object cannot be read. What is known may be old."""

    reason: str


ClusterEvent = Listed[V] | Told[V] | Unheard


class LiveCluster(Protocol):
    """A cluster whose objects are made, watched and deleted. Safe between threads."""

    def list(self, kind: str, fields: str = "") -> tuple[Document, ...]:
        """Return the objects of a kind that a field selector lets through. Raises: BadInput."""
        ...

    def create(self, kind: str, document: Document, namespace: str = "") -> None:
        """Make an object. Raises: BadInput."""
        ...

    def patch(self, kind: str, name: str, body: Document, namespace: str = "") -> None:
        """Merge a body into an object. Raises: BadInput."""
        ...

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Ask for an object's end; one that is gone already is no failure. Raises: BadInput."""
        ...

    def text(self, path: str) -> str:
        """Return what the server answers below a path. Raises: BadInput."""
        ...

    def changes(
        self, kind: str, stop: Event, fields: str = "", namespace: str = ""
    ) -> Iterator[tuple[str, Document | None]]:
        """Yield each object's name and document now and after each change, None once it is gone."""
        ...

    def events(self, kind: str, reading: Reading[V], stop: Event) -> Iterator[ClusterEvent[V]]:
        """Yield what is read of all objects of a kind, then of each change, until ``stop``.

        Raises: BadInput.
        """
        ...


OpenCluster = Callable[[Path | None, str | None], LiveCluster]
"""Finds the API server of a kubeconfig and context, the usual ones where they are None. Raises: BadInput."""
