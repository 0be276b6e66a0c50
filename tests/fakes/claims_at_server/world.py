"""A coordinator in front of such a server, with the watches between them done by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from claims_at_server import Document, Server, machine, node
from controller.decide.allocator import Allocator
from controller.gangs.seen import read_pod_group
from controller.model.claims import read_claim
from controller.model.nodes import read_node
from controller.model.pods import read_pod
from controller.model.slices import key_of, read_composite_slice, read_slice
from controller.plan.plans import GroupPlacement, Placement, Plan
from controller.run.coordinator import Coordinator
from controller.run.values import Patience
from controller.run.writer import Outcome, Writer
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.codec.claims import decode_class
from scheduler_core.model.claim import ClaimRef

READERS: dict[str, Callable[[Document], Any]] = {
    "Pod": read_pod,
    "ResourceClaim": read_claim,
    "Node": read_node,
    "ResourceSlice": read_slice,
    "CompositeResourceSlice": read_composite_slice,
    "ResourceClaimTemplate": lambda document: document,
    "DeviceClass": decode_class,
    "PodGroup": read_pod_group,
}


class World:
    """A server, and a controller that has heard what ``watch`` delivered."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.server = Server()
        self.patience = patience
        self.seen_by: dict[tuple[str, str], Any] = {}
        self.is_leading = True
        self.restart()

    def restart(self) -> None:
        """Start the controller anew: it lists everything."""
        ids = map(str, itertools.count())
        seen = ClusterSeen("tangram.dev")
        self.coordinator = Coordinator(seen, Allocator(seen, lambda: next(ids)), self.patience)
        self.writer = Writer(self.server, lambda: self.is_leading, lambda: "2026-01-01T00:00:00Z")
        self.seen_by.clear()
        listed = [
            (kind, name, one) for kind, all_ in self.server.objects.items() for name, one in all_.items()
        ]
        self.server.changes = listed  # type: ignore[assignment]
        self.watch()
        self.pass_time(0)
        self.pass_time(3)

    def told(self, name: str) -> str:
        """Let all pods be told why they wait; return what this one was told last, empty where nothing."""
        self.pass_time(61)
        while self.coordinator.explain():
            pass
        for plan in self.coordinator.tells():
            self.write(plan)
        self.watch()
        conditions = (self.server.pods()[name].get("status") or {}).get("conditions") or [{"message": ""}]
        return str(conditions[0]["message"])

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self.coordinator.standing.now += seconds
        self.coordinator.tick()

    def add_nodes(self, *names: str, gpus: int = 2) -> None:
        for name in names:
            self.server.put("Node", node(name))
            for one in machine(name, gpus):
                self.server.put("ResourceSlice", one)

    def watch(self) -> None:
        """Deliver what happened at the server."""
        changes, self.server.changes = self.server.changes, []
        for kind, name, document in changes:
            old = self.seen_by.get((kind, name))
            new = None if document is None else READERS[kind](document)
            self.seen_by[kind, name] = new
            self._tell(kind, name, old, new)

    def _tell(self, kind: str, name: str, old: Any, new: Any) -> None:
        coordinator = self.coordinator
        match kind:
            case "Pod":
                coordinator.pod_changed(old, new)
            case "ResourceClaim":
                coordinator.claim_changed(old, new)
            case "Node":
                coordinator.node_changed(name, new)
            case "ResourceSlice" | "CompositeResourceSlice":
                name = key_of(kind, name)
                coordinator.slices_changed([] if new else [name], [new] if new else [])
            case "ResourceClaimTemplate":
                coordinator.template_changed(ClaimRef("default", name), new)
            case "PodGroup":
                coordinator.group_changed(old, new)
            case _:
                coordinator.take(coordinator.seen.set_class(new))

    def plans(self) -> list[Placement | GroupPlacement]:
        """Decide until nothing is left to decide, and return what is to be written."""
        if self.coordinator.is_woken:
            self.coordinator.wake()
        found = []
        while (decided := self.coordinator.decide()) is not None:
            if decided.plan is not None:
                found.append(decided.plan)
        return found

    def write(self, plan: Plan) -> Outcome:
        """Carry out a plan, deliver its events and then its outcome."""
        outcome = self.writer.carry_out(plan)
        self.watch()
        if isinstance(plan, Placement | GroupPlacement):
            self.coordinator.done(plan, outcome)
        return outcome

    def settle(self, most: int = 100) -> None:
        """Decide and write until nothing is left to do."""
        for _ in range(most):
            self.watch()
            plans: list[Plan] = [*self.plans(), *self.coordinator.standing.plans]
            self.coordinator.standing.plans = []
            if not plans:
                return
            for plan in plans:
                self.write(plan)
        raise AssertionError("the controller writes for ever")

    def node_of(self, claim: str) -> str | None:
        """Return the node on which a claim is allocated."""
        allocation = (self.server.claim(claim).get("status") or {}).get("allocation")
        if not allocation:
            return None
        (term,) = allocation["nodeSelector"]["nodeSelectorTerms"]
        return str(term["matchFields"][0]["values"][0])

    def devices_of(self, claim: str) -> list[str]:
        allocation = (self.server.claim(claim).get("status") or {}).get("allocation") or {"devices": {}}
        return [f"{one['pool']}/{one['device']}" for one in allocation["devices"].get("results", [])]

    def is_gated(self, pod: str) -> bool:
        return bool(self.server.pods()[pod]["spec"].get("schedulingGates"))

    def bind(self, pod: str, node: str) -> None:
        """Do what kube-scheduler does with a pod that fits."""
        stored = self.server.pods()[pod]
        self.server.put("Pod", {**stored, "spec": {**stored["spec"], "nodeName": node}})

    def give_back(self, claim: str) -> None:
        """Do what kube-scheduler does where the allocation fits no node that it likes."""
        self.server.put("ResourceClaim", {**self.server.claim(claim), "status": {}})
