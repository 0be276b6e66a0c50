"""Names of the claims that a pod's admission makes up.

A pod that is made of ``generateName`` has no name when it is admitted, and a pod of a StatefulSet comes back
under the name of the one before, whose claim may still be there. So a name ends in a digest of the request
that creates the pod.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

CLAIM_ENTRY: Final = "tangram"
"""How a pod calls the claim for its amounts, unless it calls another claim so."""
_BASE: Final = 40  # characters of the pod's name; the whole name stays a DNS label
_DIGEST: Final = 12


def claim_name(metadata: Mapping[str, Any], request_uid: str, entry: str) -> str:
    """Return the name of a claim. Shape: ``entry`` is how the pod calls it, which is a DNS label."""
    digest = hashlib.sha256(f"{request_uid} {entry}".encode()).hexdigest()[:_DIGEST]
    given = metadata.get("name") or metadata.get("generateName") or "pod"
    base = str(given)[:_BASE].strip("-.")
    return f"{base}-{digest}"


def free_entry(taken: frozenset[str]) -> str:
    """Return how the pod calls the claim for its amounts."""
    numbered = (f"{CLAIM_ENTRY}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (CLAIM_ENTRY, *numbered) if name not in taken)
