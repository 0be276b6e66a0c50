"""Where claims and the members of their devices come from, and who is told what looks find.

The program's options decide whether claims come from the API server or from a folder of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from plugin.claim.quarantine.quarantined import Quarantined
from scheduler_core.codec.members import Members
from scheduler_core.model.claim import ClaimRef, ClaimUid


class ClaimReader(Protocol):
    """Reads ResourceClaims as plain documents, in the form of the API."""

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        """Return a claim as it is now.

        Shape: ``meanwhile`` is called once before this returns, if possible while the answer is awaited.
        Raises: ClaimUnusable where there is no such claim; ClaimUnreadable where that cannot be determined;
               what
                ``meanwhile`` raises.
        """
        ...

    def members(self, driver: str, pool: str) -> Members:
        """Return which GPUs the devices of a pool of several nodes have, none for a pool that is not there.

        Raises: ClaimUnusable where there are no such pools; ClaimUnreadable where they cannot be read.
        """
        ...


class ClaimFinder(Protocol):
    """Says what has become of claims."""

    def find(self, ref: ClaimRef) -> Mapping[str, Any] | None:
        """Return a claim as it is now, None where it is certain that there is none of that name.

        Raises: ClaimUnreadable where that cannot be determined.
        """
        ...


class LookObserver(Protocol):
    """Receives what looks find. Its methods return at once and never fail."""

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Take note that the claim's status is to be written anew."""
        ...

    def missing(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Take note that devices of a prepared claim are not there any more."""
        ...

    def in_use(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Take note that a claim is over and stays, because programs use its GPUs."""
        ...

    def kept(self, found: Quarantined) -> None:
        """Take note that the record of a claim cannot be believed, so that the claim stays as it is."""
        ...
