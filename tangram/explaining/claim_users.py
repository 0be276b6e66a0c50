"""The pods of a cluster that wait with a claim. They decide which allocator gives it devices.

Takes a cluster and the name of a claim; returns the pods without a node that use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import ClaimRef
from tangram.clusters import ClusterReader, Reading
from tangram.errors import BadInput, Unreachable

if TYPE_CHECKING:  # the controller takes long to load, and many claims have no pod that waits
    from controller.model.pods import Pod

_ENDED: Final = frozenset(("Succeeded", "Failed"))


@dataclass(frozen=True, slots=True)
class ClaimUsers:
    """The pods that wait with a claim.

    Shape: ``pods`` in the order in which the controller serves them; ``unknown`` says why they cannot be
           listed, empty where they can.
    """

    pods: tuple[Pod, ...] = ()
    unknown: str = ""

    @property
    def at_gate(self) -> Pod | None:
        """Return the first pod that the controller holds back, None where none is: only it serves those."""
        return next((pod for pod in self.pods if pod.is_gated), None)


def users_of(claim: ClaimRef, cluster: ClusterReader) -> ClaimUsers:
    """Return the pods that wait with a claim. Raises: Unreachable."""
    reading = Reading(partial(_waiting_with, claim))
    try:
        found = cluster.read("Pod", reading, f"metadata.namespace={claim.namespace}")
    except Unreachable:
        raise
    except BadInput as error:  # without the right to list pods
        return ClaimUsers(unknown=str(error))
    documents = [one for one in found if one is not None]
    if not documents:
        return ClaimUsers()
    from controller.model.pods import read_pod  # noqa: PLC0415 - see above
    from controller.queue.waiting_line import Order  # noqa: PLC0415

    pods = map(read_pod, documents)
    return ClaimUsers(tuple(sorted(pods, key=lambda pod: Order.of(pod.priority, pod.created, pod.uid))))


def _waiting_with(claim: ClaimRef, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the document of a pod that waits with the claim, None for any other."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    status = document.get("status") or {}
    is_waiting = not (
        spec.get("nodeName") or status.get("phase") in _ENDED or metadata.get("deletionTimestamp")
    )
    named = (*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ()))
    if not is_waiting or claim.name not in [one.get("resourceClaimName") for one in named]:
        return None
    return document
