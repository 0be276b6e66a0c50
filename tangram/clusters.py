"""What the commands read of a running cluster, as a port; ``tangram.api`` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from scheduler_core.base.quick_dataclass import dataclass

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Reading(Generic[V]):
    """How objects of a kind are read, where only what is read of each is kept.

    Shape: ``text`` reads from JSON text what ``document`` reads from a document, where that is faster.
    """

    document: Callable[[Mapping[str, Any]], V]
    text: Callable[[bytes], V] | None = None


class ClusterReader(Protocol):
    """An API server, asked for objects."""

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the objects of a kind that a field selector lets through. Raises: BadInput."""
        ...

    def read(self, kind: str, reading: Reading[V], fields: str = "") -> tuple[V, ...]:
        """Return what is read of each object of a kind. There are never more documents than a page of them.

        Raises: BadInput.
        """
        ...

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        """Return one object. Raises: BadInput where there is none."""
        ...


class ConnectedCluster(ClusterReader, Protocol):
    """An API server that was found by a kubeconfig, or from within a pod."""

    def usual_namespace(self) -> str:
        """Return the namespace of questions that name none, the same as kubectl's. Raises: BadInput."""
        ...


Connect = Callable[[Path | None, str | None], ConnectedCluster]
"""Finds the API server of a kubeconfig and context, the usual ones where they are None. Raises: BadInput."""
