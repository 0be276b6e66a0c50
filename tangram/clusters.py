"""What the commands read of a running cluster, as a port; ``tangram.api`` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol


class ClusterReader(Protocol):
    """An API server, asked for objects."""

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the objects of a kind that a field selector lets through. Raises: BadInput."""
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
