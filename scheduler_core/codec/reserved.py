"""For which pods a claim is reserved, as ``status.reservedFor`` of its document says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.errors import InvalidClaim
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.model.claim import ClaimRef

_PODS: Final = "pods"
_MOST: Final = 256  # as the API allows


def reserved_for(document: Mapping[str, Any]) -> tuple[ClaimRef, tuple[str, ...]]:
    """Return a claim's name and the names of the pods of its namespace that it is reserved for.

    Raises: InvalidClaim.
    """
    top = Fields(document, subject_of(document, "ResourceClaim"), "", InvalidClaim)
    metadata = top.child("metadata")
    ref = ClaimRef(metadata.text("namespace", "default"), metadata.text("name"))
    consumers = top.optional("status").children("reservedFor", _MOST)
    names = (one.text("name") for one in consumers if one.text("resource", _PODS) == _PODS)
    return ref, tuple(sorted(set(names)))
