"""Where claims come from: the API server, or a folder of files; the program's options decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

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
