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


Connect = Callable[[Path | None, str | None], ClusterReader]
"""Finds the API server of a kubeconfig and context, the usual ones where they are None. Raises: BadInput."""
