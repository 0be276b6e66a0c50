"""What publishing pools needs of an API server, as ports. Objects are plain JSON documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.publishing.documents import Document


class PoolWriteFailed(Exception):
    """A write failed, or nobody knows whether it was made: look again and decide again."""


class PoolWriteRefused(PoolWriteFailed):
    """The server rejects the content; the message says which fields, and why."""


class PoolSlices(Protocol):
    """The ResourceSlices of all pools that no node owns. Our own writes are in them at once."""

    def documents(self) -> tuple[Document, ...]:
        """Return the slices that have the label ``ownership.POOL_LABEL``."""
        ...

    def create(self, document: Document, *, dry_run: bool = False) -> Document:
        """Create a slice and return it as stored; a dry run stores nothing. Raises: PoolWriteFailed."""
        ...

    def replace(self, document: Document) -> Document:
        """Replace a slice that still has the version of the document. Raises: PoolWriteFailed."""
        ...

    def delete(self, name: str, uid: str, resource_version: str) -> None:
        """Delete a slice that still has this version; one that is gone is no error.

        Raises: PoolWriteFailed.
        """
        ...


class WritePoolStatus(Protocol):
    """Writes the status of MultiNodePool objects."""

    def __call__(self, name: str, document: Mapping[str, Any]) -> None:
        """Merge a document into the status of an object. Raises: PoolWriteFailed."""
        ...


class WriteFinalizers(Protocol):
    """Writes the finalizers of MultiNodePool objects."""

    def __call__(self, name: str, finalizers: tuple[str, ...], version: str) -> None:
        """Replace the finalizers of an object that still has this version. Raises: PoolWriteFailed."""
        ...


class InUse(Protocol):
    """What nodes publish and claims hold."""

    def slices_of(self, node: str) -> tuple[Document, ...]:
        """Return our driver's slices of a node as they are at the server now. Raises: PoolWriteFailed."""
        ...

    def claims(self) -> Iterable[AllocatedClaim]:
        """Return all allocated claims, as far as they are known."""
        ...

    def refresh(self) -> None:
        """Read all claims as they are at the server now. Raises: PoolWriteFailed."""
        ...
