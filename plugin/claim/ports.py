"""Where claims and the members of their devices come from; the program's options decide.

It is the API server, or a folder of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from scheduler_core.codec.members import Members
from scheduler_core.model.claim import ClaimRef


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
