"""Which pods have the claims of this node, as the API server said it last.

Claims are read anyway: when they are prepared, and now and then while they are. Nothing is asked for here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from scheduler_core.model.claim import ClaimUid


class PodsOfClaims:
    """The names of the pods of each claim; they are in the claim's namespace. Safe between threads.

    Shape: ``changes`` counts what was noted, so that nobody looks at all of it again without need.
    """

    def __init__(self) -> None:
        self._known: dict[ClaimUid, tuple[str, ...]] = {}
        self.changes = 0

    def note(self, uid: ClaimUid, claim: Mapping[str, Any] | None) -> None:
        """Note what was just read of a claim. Shape: as the API has it, None where there is none.

        A claim of its name with another UID says nothing of its pods.
        """
        is_it = _part(claim, "metadata").get("uid") == uid
        self._known[uid] = pods_of(claim) if is_it else ()
        self.changes += 1

    def knows(self, uid: ClaimUid) -> bool:
        """Whether the claim was read."""
        return uid in self._known

    def of(self, uid: ClaimUid) -> tuple[str, ...]:
        """Return the pods of a claim by name, none where they are not known."""
        return self._known.get(uid, ())

    def keep_only(self, uids: Collection[ClaimUid]) -> None:
        """Forget all other claims."""
        for gone in [uid for uid in tuple(self._known) if uid not in uids]:
            self._known.pop(gone, None)


def pods_of(claim: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the pods for which a claim is reserved; what is not understood is left out.

    Source: resource.k8s.io/v1, ResourceClaimStatus.
    """
    reserved = _part(claim, "status").get("reservedFor")
    found = reserved if isinstance(reserved, list) else []
    pods = (one for one in found if isinstance(one, Mapping) and one.get("resource") == "pods")
    return tuple(sorted(str(one["name"]) for one in pods if one.get("name") and not one.get("apiGroup")))


def _part(document: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    found = None if document is None else document.get(key)
    return found if isinstance(found, Mapping) else {}
