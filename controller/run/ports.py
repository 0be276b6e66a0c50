"""What the controller asks of an API server, as ports."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from controller.model.pods import PodRef
from scheduler_core.model.claim import ClaimRef

Document = Mapping[str, Any]


class Why(StrEnum):
    """Why a write failed, and so what to do about it."""

    OUTDATED = "outdated"
    """Somebody else wrote first, or the object is gone: read again and decide again."""
    REFUSED = "refused"
    """The server says that the write is wrong or not allowed. Nothing was written."""
    UNKNOWN = "unknown"
    """The server did not answer: it may have been written."""
    NOT_LEADING = "not leading"
    """Another replica may lead now. Nothing was written."""


class WriteFailed(Exception):
    """A write failed."""

    def __init__(self, why: Why, text: str) -> None:
        super().__init__(text)
        self.why = why


class ClusterWriter(Protocol):
    """Writes. Each answer is also what the watches will show. Raises everywhere: WriteFailed."""

    def refresh(self) -> None:
        """Read all claims as they are at the server now."""
        ...

    def create_claim(self, document: Document) -> Document:
        """Make a claim and return it."""
        ...

    def replace_claim(self, document: Document) -> Document:
        """Replace a claim that still has the version of the document."""
        ...

    def replace_claim_status(self, document: Document) -> Document:
        """Replace the status of a claim that still has the version of the document."""
        ...

    def delete_claim(self, document: Document) -> None:
        """Delete a claim that still has the version of the document."""
        ...

    def read_claim(self, ref: ClaimRef) -> Document | None:
        """Return a claim as it is at the server now, None where there is none."""
        ...

    def is_bound(self, pod: PodRef, uid: str) -> bool:
        """Whether a pod has a node at the server now."""
        ...

    def write_class_status(self, name: str, document: Document) -> None:
        """Merge a document into the status of a ResourceClass."""
        ...

    def patch_pod(self, pod: PodRef, patch: list[Document]) -> None:
        """Change a pod by a JSON patch."""
        ...

    def patch_pod_status(self, pod: PodRef, patch: Document) -> None:
        """Change a pod's status by a strategic merge patch."""
        ...
