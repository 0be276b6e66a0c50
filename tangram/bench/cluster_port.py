"""What the cluster benchmark asks of an API server, as a port; ``tangram.api`` implements it.

Kinds, names and documents enter; documents and changes leave. Every failure is a BadInput with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final, Protocol

Document = Mapping[str, Any]
NAMESPACE: Final = "tangram-system"
DRIVER: Final = "tangram.dev"


class LiveCluster(Protocol):
    """A cluster whose objects are made, watched and deleted. Safe between threads."""

    def list(self, kind: str, fields: str = "") -> tuple[Document, ...]:
        """Return the objects of a kind that a field selector lets through. Raises: BadInput."""
        ...

    def create(self, kind: str, document: Document, namespace: str = "") -> None:
        """Make an object. Raises: BadInput."""
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


OpenCluster = Callable[[Path | None, str | None], LiveCluster]
"""Finds the API server of a kubeconfig and context, the usual ones where they are None. Raises: BadInput."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The surroundings of a run.

    Shape: ``beside`` another driver to measure along, None without; ``count`` pods of each kind; ``loaded``
           pods for the scheduler; ``kubectl`` returns what the program printed; ``say`` is told what is being
           measured.
    Units: ``clock`` counts seconds, ``rest_s`` seconds.
    """

    cluster: LiveCluster
    kubectl: Callable[..., str]
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    say: Callable[[str], None]
    namespace: str
    beside: str | None = None
    count: int = 50
    starts: int = 5
    loaded: int = 300
    rest_s: float = 60.0
