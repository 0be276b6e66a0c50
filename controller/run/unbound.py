"""Takes devices back from pods that kube-scheduler does not bind to a node for a long time.

kube-scheduler takes an allocation back by itself where the chosen node will not do. Where it does not, for
example because a pod cannot run anywhere, the devices would be idle. Pure; for one thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.model.claims import ClaimSeen
from controller.model.pods import Pod
from controller.plan.plans import Release
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.model.claim import ClaimRef


class Unbound:
    """Since when pods have had their devices without being bound.

    Units: ``after_s`` seconds, monotonic times.
    """

    def __init__(self, seen: ClusterSeen, after_s: float) -> None:
        self._seen = seen
        self._after_s = after_s
        self._since: dict[str, float] = {}

    def note(self, uid: str, now: float) -> None:
        """Note that a pod has all its devices."""
        self._since.setdefault(uid, now)

    def forget(self, uid: str) -> None:
        """Forget a pod that is bound, gone or without devices."""
        self._since.pop(uid, None)

    def due(self, now: float) -> Iterator[tuple[Pod, tuple[Release, ...]]]:
        """Yield the pods that waited too long, and the releases of claims that nobody else uses.

        A pod that keeps its devices, because a release failed, comes again after the same time.
        """
        for uid, since in list(self._since.items()):
            pod = self._seen.waiting.get(uid)
            if pod is None:
                self.forget(uid)
            elif now - since >= self._after_s and not pod.gates:
                self._since[uid] = now
                yield pod, tuple(self.releases(pod))

    def releases(self, pod: Pod) -> Iterator[Release]:
        """Yield a release for each claim that only this pod uses.

        A pod that the server has bound by then keeps its devices.
        """
        for one in pod.claims:
            claim = (
                None if one.claim is None else self._seen.claims.get(ClaimRef(pod.ref.namespace, one.claim))
            )
            if claim is None or claim.held is None or not self._is_given(claim, pod):
                continue
            if {consumer.uid for consumer in claim.consumers} <= {pod.uid}:
                yield Release(claim.ref, claim.uid, frozenset((pod.uid,)), ((pod.ref, pod.uid),))

    def _is_given(self, claim: ClaimSeen, pod: Pod) -> bool:
        """Whether the controller allocated a claim: it owns the node, or kube-scheduler cannot try the pod.

        The node of an allocation may be gone by now, or belong to kube-scheduler again.
        """
        return self._seen.is_ours(claim) or (pod.is_gated and self._seen.is_of_driver(claim))
