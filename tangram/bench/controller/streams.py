"""Plays a stream of pods in a cluster: each is bound or refused before the next one comes.

Takes the arrivals of a mix and who allocates; returns what was refused. A pod that ends is gone, with its
claim, before the next one comes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Final

from controller.plan.documents import REASON
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.ownership import CONDITION, GATE
from scheduler_core.planning.simulation import Arrival
from tangram.bench.cluster_follow import Follower, following
from tangram.bench.cluster_objects import pod
from tangram.bench.cluster_port import Bench, Document
from tangram.bench.controller.objects import ON_OBJECTS
from tangram.bench.placement.kinds import Kind

_STAYS_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Allocator:
    """Who gives devices to pods. Shape: a pod with ``condition`` False for ``reason`` gets none."""

    name: str
    condition: str
    reason: str
    gates: tuple[str, ...] = ()


KUBE_SCHEDULER: Final = Allocator("kube-scheduler", "PodScheduled", "Unschedulable")
CONTROLLER: Final = Allocator("controller", CONDITION, REASON, (GATE,))


@dataclass(frozen=True, slots=True)
class Refused:
    """What was refused. Units: ``slices`` memory slices."""

    pods: int
    slices: int


class Stream:
    """One stream of pods in one namespace.

    Shape: ``kinds`` are those that arrivals name by number.
    Units: ``stays_s`` seconds that a pod must stay refused: news of a claim that is gone may reach
           kube-scheduler after the pod.
    """

    def __init__(
        self,
        bench: Bench,
        namespace: str,
        allocator: Allocator,
        kinds: Sequence[Kind],
        *,
        stays_s: float = _STAYS_S,
    ) -> None:
        self._bench = bench
        self._namespace = namespace
        self._allocator = allocator
        self._kinds = kinds
        self._stays_s = stays_s
        self._leaving: list[tuple[float, str]] = []

    def play(self, arrivals: Iterable[Arrival]) -> Refused:
        """Let the pods come and go, and count what is refused. Raises: BadInput."""
        refused: list[Kind] = []
        with (
            following(self._bench, "Pod", namespace=self._namespace) as pods,
            following(self._bench, "ResourceClaim", namespace=self._namespace) as claims,
        ):
            for number, arrival in enumerate(arrivals):
                self._end(self._left_by(arrival.at), claims)
                name, kind = f"pod-{number}", self._kinds[arrival.ask]
                self._ask(name, kind)
                if self._is_bound(name, pods):
                    heapq.heappush(self._leaving, (arrival.at + (arrival.stays or 0.0), name))
                else:
                    refused.append(kind)
                    self._end([name], claims)
        return Refused(len(refused), sum(kind.slices for kind in refused))

    def _left_by(self, now: float) -> list[str]:
        found = []
        while self._leaving and self._leaving[0][0] <= now:
            found.append(heapq.heappop(self._leaving)[1])
        return found

    def _ask(self, name: str, kind: Kind) -> None:
        cluster, gates = self._bench.cluster, [{"name": one} for one in self._allocator.gates]
        claim = {"metadata": {"name": name}, "spec": kind.document["spec"]}
        named = [{"name": "devices", "resourceClaimName": name}]
        cluster.create("ResourceClaim", claim, self._namespace)
        document = pod(name, {**ON_OBJECTS, "schedulingGates": gates}, named)
        cluster.create("Pod", document, self._namespace)

    def _is_bound(self, name: str, pods: Follower) -> bool:
        """Wait until a pod is bound, or refused and stays so."""

        def is_bound(found: str, now: Document | None) -> bool:
            return found == name and now is not None and bool(now["spec"].get("nodeName"))

        refusals: list[str] = []

        def is_decided(found: str, now: Document | None) -> bool:
            if found == name and now is not None and self._is_refused(now):
                refusals.append(name)
            return bool(refusals) or is_bound(found, now)

        pods.until(is_decided, f"pod {self._namespace}/{name} is bound or refused")
        return not refusals or pods.within(is_bound, self._stays_s) is not None

    def _is_refused(self, now: Document) -> bool:
        wanted = (self._allocator.condition, "False", self._allocator.reason)
        return any(
            (one["type"], one["status"], one.get("reason")) == wanted
            for one in (now.get("status") or {}).get("conditions") or ()
        )

    def _end(self, names: Sequence[str], claims: Follower) -> None:
        """Delete pods and their claims, and wait until these are gone."""
        for kind in ("Pod", "ResourceClaim"):
            for name in names:
                self._bench.cluster.delete(kind, name, self._namespace)
        left = set(names)

        def is_last(found: str, now: Document | None) -> bool:
            if now is None:
                left.discard(found)
            return not left

        if left:
            claims.until(is_last, f"claims of {self._namespace} are gone: {', '.join(names)}")
