"""PURE: whether somebody still has a claim, from what the API server says of it.

Takes claims as plain documents; returns the reason why a claim is over, and whether that was so for long
enough. What is not understood never ends a claim.
Source: resource.k8s.io/v1, ResourceClaimStatus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimUid

ASK_S: Final = 300.0
"""How often the API server is asked for one claim. Units: seconds."""
GRACE_S: Final = 600.0
"""How long a claim must be over before it is undone. Units: seconds. The kubelet ends most pods sooner."""


@dataclass(frozen=True, slots=True)
class Standing:
    """When one claim was asked for, and since when it is over. Units: seconds of a monotonic clock.

    Shape: ``asked_s`` when the API server was last asked, or the claim was first seen; ``over_since_s`` when
           it was first found to be over, None where it was not over at the last look.
    """

    asked_s: float
    over_since_s: float | None = None

    def is_due(self, now_s: float) -> bool:
        """Whether the API server is to be asked again."""
        return now_s - self.asked_s >= ASK_S

    def is_ripe(self, now_s: float) -> bool:
        """Whether the claim is undone, should this look find it over once more."""
        return self.over_since_s is not None and now_s - self.over_since_s >= GRACE_S

    def after(self, why: str, now_s: float) -> Standing:
        """Return what is known after a look. Shape: ``why`` the claim is over, empty where it is not."""
        since_s = self.over_since_s if self.over_since_s is not None else now_s
        return replace(self, asked_s=now_s, over_since_s=since_s if why else None)


def why_over(claim: Mapping[str, Any] | None, uid: ClaimUid, record: Record | None) -> str:
    """Return why no pod of this node has a claim, empty where one may have it.

    Shape: ``claim`` None where the API server has none of its name; ``record`` what the claim holds here,
           None where that is not known.
    """
    if claim is None:
        return "the API server has no claim of its name"
    found = _part(claim, "metadata").get("uid")
    if not isinstance(found, str):
        return ""
    if found != uid:
        return f"its name belongs to another claim, with UID {found}"
    status = _part(claim, "status")
    if not status.get("reservedFor"):
        return "no pod has it: it is reserved for nobody"
    return "" if record is None or _has_any(status, record) else "other devices are allocated to it now"


def _has_any(status: Mapping[str, Any], record: Record) -> bool:
    """Whether any device of a record is allocated to the claim, or its allocation is not understood."""
    results = _part(_part(status, "allocation"), "devices").get("results")
    if not isinstance(results, list):
        return True
    named = {(device.pool, device.device) for device in record.devices}
    return any(
        not isinstance(one, Mapping)
        or (one.get("driver") == record.driver and (one.get("pool"), one.get("device")) in named)
        for one in results
    )


def _part(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found if isinstance(found, Mapping) else {}
