"""The cluster as ``tangram doctor`` needs it, as a port; ``tangram.api`` implements it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tangram.clusters import ClusterReader
from tangram.doctor.finding import ObjectRef


class MendableCluster(ClusterReader, Protocol):
    """A cluster that is read, and in which an object is changed that is still as it was. Raises: BadInput."""

    def text(self, path: str) -> str:
        """Return the server's answer to a GET of a path."""
        ...

    def delete_unchanged(self, found: ObjectRef) -> None:
        """Delete an object that still has this UID and version."""
        ...

    def set_finalizers(self, found: ObjectRef, finalizers: tuple[str, ...]) -> None:
        """Replace the finalizers of an object that still has this version."""
        ...


OpenMendable = Callable[[Path | None, str | None], MendableCluster]
"""Finds the API server of a kubeconfig and context, the usual ones where they are None. Raises: BadInput."""
