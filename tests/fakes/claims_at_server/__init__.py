"""What an API server does with claims and pods: versions, UIDs, refusals of outdated writes. Kept in memory.

Writes can be made to fail: before they are done, or after, with a lost answer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.model.pods import PodRef
from controller.run.ports import Why, WriteFailed
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.ownership import CONTROLLER, GATE, OWNER

Document = Mapping[str, Any]
DRIVER = "tangram.dev"
NAMESPACE = "default"
TAINT = {"key": OWNER, "value": CONTROLLER, "effect": "NoSchedule"}


@dataclass
class Server:
    """The objects by kind and name; ``changes`` are those that no watch has reported yet.

    ``failing`` is asked before each write: None lets it be, else it says why it fails and whether the
    server did it nevertheless.
    """

    objects: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    changes: list[tuple[str, str, dict[str, Any] | None]] = field(default_factory=list)
    failing: Callable[[], tuple[Why, bool] | None] = lambda: None
    writes: list[str] = field(default_factory=list)
    version: int = 0

    def put(self, kind: str, document: Document) -> dict[str, Any]:
        """Store an object as new or in the place of the one of its name."""
        stored = copy.deepcopy(dict(document))
        metadata = stored.setdefault("metadata", {})
        metadata.setdefault("namespace", NAMESPACE)
        self.version += 1
        known = self.objects.setdefault(kind, {}).get(metadata["name"])
        metadata["uid"] = known["metadata"]["uid"] if known else f"uid-{self.version}"
        metadata["resourceVersion"] = str(self.version)
        metadata.setdefault("creationTimestamp", f"2026-01-01T00:00:{self.version:06}Z")
        self.objects[kind][metadata["name"]] = stored
        self.changes.append((kind, metadata["name"], copy.deepcopy(stored)))
        return copy.deepcopy(stored)

    def drop(self, kind: str, name: str) -> None:
        """Delete an object."""
        del self.objects[kind][name]
        self.changes.append((kind, name, None))

    def claim(self, name: str) -> dict[str, Any]:
        """Return a claim."""
        return self.objects["ResourceClaim"][name]

    def pods(self) -> dict[str, dict[str, Any]]:
        """Return the pods by name."""
        return self.objects.setdefault("Pod", {})

    # The port of writes

    def refresh(self) -> None:
        """Do nothing: there is no watch to be late."""

    def create_claim(self, document: Document) -> Document:
        if document["metadata"]["name"] in self.objects.setdefault("ResourceClaim", {}):
            raise WriteFailed(Why.OUTDATED, "the claim exists")
        return self._write("create", lambda: self.put("ResourceClaim", document))

    def replace_claim(self, document: Document) -> Document:
        stored = self._current(document)
        merged = {**stored, "metadata": document["metadata"], "spec": document["spec"]}
        return self._write("replace", lambda: self.put("ResourceClaim", merged))

    def replace_claim_status(self, document: Document) -> Document:
        stored = self._current(document)
        before = (stored.get("status") or {}).get("allocation")
        after = (document.get("status") or {}).get("allocation")
        if before and after and before != after:
            raise WriteFailed(Why.REFUSED, "status.allocation cannot be modified once set")
        if after and "allocationTimestamp" not in after:
            raise WriteFailed(Why.REFUSED, "an allocation has a time stamp")
        merged = {**stored, "status": document["status"]}
        return self._write("status", lambda: self.put("ResourceClaim", merged))

    def delete_claim(self, document: Document) -> None:
        stored = self._current(document)
        if stored["metadata"].get("finalizers"):
            raise WriteFailed(Why.REFUSED, "it has finalizers")

        def drop() -> Document:
            self.drop("ResourceClaim", stored["metadata"]["name"])
            return stored

        self._write("delete", drop)

    def read_claim(self, ref: ClaimRef) -> Document | None:
        found = self.objects.get("ResourceClaim", {}).get(ref.name)
        return copy.deepcopy(found) if found else None

    def is_bound(self, pod: PodRef, uid: str) -> bool:
        stored = self.pods().get(pod.name)
        return stored is not None and stored["metadata"]["uid"] == uid and "nodeName" in stored["spec"]

    def patch_pod(self, pod: PodRef, patch: list[Document]) -> None:
        stored = copy.deepcopy(self.pods().get(pod.name))
        if stored is None or patch[0]["value"] != stored["metadata"]["uid"]:
            raise WriteFailed(Why.OUTDATED, "the pod is another one")
        if stored["spec"].get("schedulingGates") != [{"name": GATE}]:
            raise WriteFailed(Why.OUTDATED, "the gates are others")
        del stored["spec"]["schedulingGates"]
        self._write("gate", lambda: self.put("Pod", stored))

    def patch_pod_status(self, pod: PodRef, patch: Document) -> None:
        stored = copy.deepcopy(self.pods().get(pod.name))
        if stored is None or patch["metadata"]["uid"] != stored["metadata"]["uid"]:
            raise WriteFailed(Why.OUTDATED, "the pod is another one")
        stored["status"] = {**(stored.get("status") or {}), **patch["status"]}
        self._write("condition", lambda: self.put("Pod", stored))

    def _current(self, document: Document) -> dict[str, Any]:
        stored = self.objects.get("ResourceClaim", {}).get(document["metadata"]["name"])
        if stored is None or stored["metadata"]["uid"] != document["metadata"]["uid"]:
            raise WriteFailed(Why.OUTDATED, "there is no such claim")
        if stored["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
            raise WriteFailed(Why.OUTDATED, "the claim has changed")
        return copy.deepcopy(stored)

    def _write(self, what: str, write: Callable[[], Document]) -> Document:
        failure = self.failing()
        self.writes.append(what)
        if failure is not None and not failure[1]:
            raise WriteFailed(failure[0], "it failed")
        stored = write()
        if failure is not None:
            raise WriteFailed(Why.UNKNOWN, "the answer was lost")
        return stored


def node(name: str, cpu: str = "64", **labels: str) -> Document:
    """Return a node whose devices are the controller's."""
    return {
        "metadata": {"name": name, "labels": {OWNER: CONTROLLER, **labels}},
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}},
    }


def machine(name: str, gpus: int = 2, taints: bool = True) -> list[Document]:
    """Return the slices of a node: GPUs, each whole or in two halves."""

    def device(called: str, gpu: int, kind: str, slices: int) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": called,
            "attributes": {"type": {"string": kind}, "gpu": {"int": gpu}},
            "consumesCounters": [
                {"counterSet": f"gpu-{gpu}", "counters": {"slices": {"value": str(slices)}}}
            ],
        }
        return {**found, "taints": [TAINT]} if taints else found

    pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": f"gpu-{one}", "counters": {"slices": {"value": "2"}}} for one in range(gpus)]
    devices = []
    for one in range(gpus):
        devices += [device(f"gpu-{one}", one, "gpu", 2)]
        devices += [device(f"half-{one}-{part}", one, "half", 1) for part in range(2)]
    common = {"driver": DRIVER, "nodeName": name, "pool": pool}
    return [
        {"metadata": {"name": f"{name}-0"}, "spec": {**common, "sharedCounters": counters}},
        {"metadata": {"name": f"{name}-1"}, "spec": {**common, "devices": devices}},
    ]


def device_class(kind: str) -> Document:
    """Return the class of devices of a type."""
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "{kind}"'
    return {"metadata": {"name": kind}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}


def claim(name: str, kind: str = "gpu", count: int = 1, **metadata: Any) -> Document:
    """Return a claim for devices of a type."""
    request = {
        "name": "r",
        "exactly": {"deviceClassName": kind, "allocationMode": "ExactCount", "count": count},
    }
    return {"metadata": {"name": name, **metadata}, "spec": {"devices": {"requests": [request]}}}


def pod(name: str, *claims: str, gated: bool = True, cpu: str = "1", **spec: Any) -> Document:
    """Return a pod with claims."""
    gates = {"schedulingGates": [{"name": GATE}]} if gated else {}
    return {
        "metadata": {"name": name, "annotations": {}},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            "resourceClaims": [{"name": one, "resourceClaimName": one} for one in claims],
            **gates,
            **spec,
        },
    }
