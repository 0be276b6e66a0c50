"""The pods that wait for devices, and why each does. Takes what is known of a cluster; returns values.

Pods of the controller have the reason that it gives them; for all others the core is asked, as if their
claims were decided about now. Nothing is decided or kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.model.pods import Pod
from controller.page.reasons import Reasons
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim, ClaimRef


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that waits.

    Shape: ``since`` as the API server writes it; ``reason`` one sentence; ``details`` more of them.
    """

    namespace: str
    name: str
    since: str
    reason: str
    details: tuple[str, ...] = ()


def waiting_pods(seen: ClusterSeen, engine: Engine) -> tuple[WaitingPod, ...]:
    """Return the pods that wait for devices, the oldest first."""
    reasons = Reasons(seen, engine)
    found = []
    for pod in sorted(seen.waiting.values(), key=lambda one: (one.created, one.ref)):
        if pod.is_leaving or not (pod.claims or pod.is_gated):
            continue
        claims, missing = _claims(pod, seen)
        if not (claims or missing or pod.is_gated):
            continue  # it has its devices, and waits for something else
        details: tuple[str, ...] = (f"claim {missing[0]} does not exist yet",) if missing else ()
        if claims and not missing:
            details = reasons.of(pod.ref, claims)
        known = pod.problem or pod.told
        reason = known or next(iter(details), "the controller has not decided yet")
        rest = tuple(one for one in details if one != reason)
        found.append(WaitingPod(pod.ref.namespace, pod.ref.name, pod.created, reason, rest))
    return tuple(found)


def _claims(pod: Pod, seen: ClusterSeen) -> tuple[list[Claim], list[str]]:
    """Return the claims of a pod that have no devices yet, and the names of those that do not exist."""
    asked, missing = [], []
    for one in pod.claims:
        known = seen.claims.get(ClaimRef(pod.ref.namespace, one.claim)) if one.claim else None
        if known is None:
            missing.append(one.claim or one.name)
        elif known.asked is not None:
            asked.append(known.asked)
    return asked, missing
