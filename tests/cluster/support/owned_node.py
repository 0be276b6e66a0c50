"""A node object that an agent publishes and a real kube-scheduler places pods on; no kubelet runs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from agent_support import Site, registered
from cluster_support import Document, eventually, pod

from kube_api import DEVICE_CLASSES, NODES, PODS, RESOURCE_CLAIMS, KubeApi, NotFound
from scheduler_core.model.ownership import CONTROLLER, OWNER, TAINT_EFFECT

MARK = {"key": OWNER, "value": CONTROLLER, "effect": TAINT_EFFECT}
_PROMPT_S = 5.0  # far less than any timer; slow machines get some slack


class OwnedNode:
    """The node, its label, and claims for its GPUs in one namespace."""

    def __init__(self, site: Site, namespace: str) -> None:
        self.site, self.api, self.namespace = site, site.api, namespace

    def label(self, allocator: str | None) -> None:
        """Say who allocates the devices; None takes the label away."""
        self.api.patch(NODES, self.site.name, {"metadata": {"labels": {OWNER: allocator}}})

    def marks(self) -> list[bool]:
        """Return of every published device whether it has the taint."""
        devices = [device for one in self.site.slices() for device in one["spec"].get("devices", ())]
        taints = [device.get("taints", ()) for device in devices]
        return [any(taint.items() >= MARK.items() for taint in found) for found in taints]

    def owned(self, count: int = 52, timeout_s: float = _PROMPT_S) -> None:
        """Wait until the pool is complete and every device has the taint."""
        eventually(lambda: self.site.pool() and self.marks() == [True] * count, "all are marked", timeout_s)

    def free(self, count: int = 52, timeout_s: float = _PROMPT_S) -> None:
        """Wait until the pool is complete and no device has the taint."""
        eventually(lambda: self.site.pool() and self.marks() == [False] * count, "none is marked", timeout_s)

    def ask(self, name: str, tolerations: list[Document] | None = None) -> None:
        """Make a claim for a whole GPU of the node and a pod that uses it."""
        self.claim(name, tolerations)
        self.pod(name)

    def claim(self, name: str, tolerations: list[Document] | None = None) -> None:
        """Make a claim for a whole GPU of the node."""
        wanted: Document = {"deviceClassName": self.site.name}
        if tolerations:
            wanted["tolerations"] = tolerations
        spec = {"devices": {"requests": [{"name": "r", "exactly": wanted}]}}
        self.api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, self.namespace)

    def pod(self, name: str, gates: Sequence[str] = ()) -> None:
        """Make a pod that uses the claim of its name."""
        place = {
            "nodeSelector": {"kubernetes.io/hostname": self.site.name},
            "tolerations": [{"operator": "Exists"}],
            "schedulingGates": [{"name": gate} for gate in gates],
        }
        document = pod(name, claims={"gpu": name}, **place)
        self.api.create(PODS, document, self.namespace)

    def allocate(self, name: str, device: str, tolerations: list[Document] | None = None) -> None:
        """Allocate a device to a claim, as another allocator than kube-scheduler."""
        document = dict(self.api.get(RESOURCE_CLAIMS, name, self.namespace).document)
        finalizers = ["resource.kubernetes.io/delete-protection"]
        document["metadata"] = {**document["metadata"], "finalizers": finalizers}
        document = dict(self.api.replace(RESOURCE_CLAIMS, document, self.namespace).document)
        result: Document = {"request": "r", "driver": self.site.driver, "pool": self.site.name}
        result |= {"device": device} | ({"tolerations": tolerations} if tolerations else {})
        field = {"key": "metadata.name", "operator": "In", "values": [self.site.name]}
        document["status"] = {
            "allocation": {
                "allocationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
            }
        }
        self.api.replace(RESOURCE_CLAIMS, document, self.namespace, "status")

    def release(self, name: str) -> None:
        """Take the device of a claim away."""
        status = {"allocation": None, "reservedFor": None}
        self.api.patch(RESOURCE_CLAIMS, name, {"status": status}, self.namespace, subresource="status")

    def device_of(self, name: str) -> str:
        """Return the device of a claim, empty while it has none."""
        status = self.api.get(RESOURCE_CLAIMS, name, self.namespace).document.get("status") or {}
        results = status.get("allocation", {}).get("devices", {}).get("results", [])
        return str(results[0]["device"]) if results else ""

    def is_bound(self, name: str) -> bool:
        """Whether kube-scheduler has placed the pod on the node."""
        document = self.api.get(PODS, name, self.namespace).document
        return bool(document["spec"].get("nodeName") == self.site.name)

    def bound(self, name: str) -> str:
        """Wait until the pod is placed and return its device."""
        eventually(lambda: self.is_bound(name), f"{name} is bound", 60)
        return self.device_of(name)

    def turned_away(self, name: str) -> str:
        """Wait until kube-scheduler has tried to place the pod in vain; return what it says."""

        def look() -> str:
            status = self.api.get(PODS, name, self.namespace).document.get("status", {})
            found = [one for one in status.get("conditions", []) if one["type"] == "PodScheduled"]
            return str(found[0].get("message", "")) if found and found[0]["status"] == "False" else ""

        return eventually(look, f"{name} is turned away", 60)


@contextmanager
def schedulable(api: KubeApi, kubeconfig: Path, folder: Path, namespace: str) -> Iterator[OwnedNode]:
    """A node object with room for pods, and a device class of its driver's whole GPUs."""
    with registered(api, kubeconfig, folder) as site:
        room = {"cpu": "8", "memory": "16Gi", "pods": "100"}
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "as good as ready"}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        # No DaemonSet's pod comes here, where no kubelet would run or end it; the tests' pods tolerate it.
        taints = [{"key": "example.com/test", "effect": "NoSchedule"}]
        labels = {"kubernetes.io/hostname": site.name}
        api.patch(NODES, site.name, {"metadata": {"labels": labels}, "spec": {"taints": taints}})
        api.patch(NODES, site.name, {"status": status}, subresource="status")
        expression = f'device.driver == "{site.driver}" && device.attributes["{site.driver}"].type == "gpu"'
        selectors = [{"cel": {"expression": expression}}]
        api.create(DEVICE_CLASSES, {"metadata": {"name": site.name}, "spec": {"selectors": selectors}})
        try:
            yield OwnedNode(site, namespace)
        finally:
            api.delete(DEVICE_CLASSES, site.name)
            for one in api.list(PODS, namespace).items:
                with suppress(NotFound):
                    api.delete(PODS, one.metadata.name, namespace)
