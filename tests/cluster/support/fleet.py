"""Nodes that are objects only, whose devices are the controller's, and the controller as a process.

No pod runs there; one that is bound has been placed.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bare_node import node_object
from cluster_support import Document, eventually
from launcher.client import ClusterControl
from story import DRIVER, ROOT

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.slices import v1_slices
from controller.lease_api import LEASES
from kube_api import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, AlreadyExists, KubeApi, NotFound, Resource
from scheduler_core.model.ownership import CONTROLLER, OWNER, TAINT_EFFECT

NAME = "tangram-controller"
_CONNECTIONS = 4
TAINT = {"key": OWNER, "value": CONTROLLER, "effect": TAINT_EFFECT}
_KEEPS_OFF = {
    "key": "example.com/fleet",
    "effect": "NoSchedule",
}  # pods of DaemonSets, which nothing would run


@contextmanager
def controller(api: KubeApi, kubeconfig: Path, folder: Path, *options: str) -> Iterator[None]:
    """Run a controller that leads while the block is open."""
    with suppress(AlreadyExists):  # so that the first one need not wait
        api.create(LEASES, {"metadata": {"name": NAME}, "spec": {"leaseDurationSeconds": 15}}, "default")
    command = [sys.executable, "-m", "controller", f"--kubeconfig={kubeconfig}", "--namespace=default"]
    log = folder / f"controller-{uuid.uuid4().hex[:4]}.log"
    with (
        log.open("wb") as output,
        subprocess.Popen([*command, *options], stderr=output, cwd=ROOT) as process,
    ):
        try:
            eventually(lambda: "this process may write" in log.read_text(), f"it leads: {log}", 120)
            yield
        finally:
            process.terminate()
            process.wait(60)
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]


@dataclass
class Fleet:
    """Nodes that are objects, and pods on them, in one namespace."""

    api: KubeApi
    namespace: str
    name: str = field(default_factory=lambda: f"fleet-{uuid.uuid4().hex[:6]}")
    nodes: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)

    def add(self, slices: Sequence[Document], cpu: str = "64", *, is_ours: bool = True) -> str:
        """Make a node of the controller, or of kube-scheduler, with these slices, and return its name."""
        name = f"{self.name}-{len(self.nodes)}"
        document = node_object(name)
        owner = {OWNER: CONTROLLER} if is_ours else {}
        document["metadata"]["labels"] |= {**owner, "fleet": self.name}
        document["spec"] = {"taints": [_KEEPS_OFF]}
        room = {"cpu": cpu, "memory": "512Gi", "pods": "5000"}
        document["status"] |= {"allocatable": room, "capacity": room}
        self.api.create(NODES, document)
        self.nodes.append(name)
        for number, one in enumerate(slices):
            spec = {**one["spec"], "nodeName": name, "pool": {**one["spec"]["pool"], "name": name}}
            if is_ours and spec.get("devices"):
                spec["devices"] = [{**device, "taints": [TAINT]} for device in spec["devices"]]
            self.slices.append(f"{name}-{number}")
            self.api.create(RESOURCE_SLICES, {"metadata": {"name": self.slices[-1]}, "spec": spec})
        return name

    def pod(self, name: str, claim: str | None = None, cpu: str = "10m", **spec: object) -> Document:
        """Return a pod for these nodes only."""
        claims = [{"name": "c", "resourceClaimName": claim}] if claim else []
        uses = {"requests": {"cpu": cpu}, "claims": [{"name": one["name"]} for one in claims]}
        container = {"name": "main", "image": "localhost/busybox:1", "resources": uses}
        return {
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"fleet": self.name},
                "tolerations": [{"operator": "Exists"}],
                "terminationGracePeriodSeconds": 0,
                "containers": [container],
                "resourceClaims": claims,
                **spec,
            },
        }

    def node_of(self, pod: str) -> str:
        """Return the node that a pod is bound to, empty while it is not."""
        return str(self.api.get(PODS, pod, self.namespace).document["spec"].get("nodeName", ""))

    def devices_of(self, claim: str) -> list[tuple[str, str]]:
        """Return pool and name of the devices of a claim, in order; none where it has none or is gone."""
        with suppress(NotFound):
            return _devices(self.api.get(RESOURCE_CLAIMS, claim, self.namespace).document)
        return []

    def doubles(self) -> list[tuple[str, str]]:
        """Return the devices that more than one claim of any namespace has."""
        held = Counter(
            device for one in self.api.list(RESOURCE_CLAIMS).items for device in _devices(one.document)
        )
        return [device for device, holders in held.items() if holders > 1 and device[0] in self.nodes]

    def close(self) -> None:
        """Delete the nodes, their slices, and the pods."""
        pods = [one.metadata.name for one in self.api.list(PODS, self.namespace).items]
        for resource, names in ((PODS, pods), (RESOURCE_SLICES, self.slices), (NODES, self.nodes)):
            delete = partial(self._delete, resource)
            with ThreadPoolExecutor(_CONNECTIONS) as pool:
                list(pool.map(delete, names))

    def _delete(self, resource: Resource, name: str) -> None:
        with suppress(NotFound):
            self.api.delete(resource, name, self.namespace if resource.namespaced else None)


def machine_slices(name: str, folder: Path) -> list[Document]:
    """Return the slices of a simulated machine, as its agent would publish them."""
    hardware = simulated_hardware(SimulatedMachine.open(load_node(name), folder))
    return [dict(one) for one in v1_slices(describe(discover(hardware.readers, name), DRIVER))]


def plain_slice(count: int) -> Document:
    """Return a slice of devices that are all alike."""
    devices = [
        {"name": f"d{number:03d}", "attributes": {"type": {"string": "plain"}}} for number in range(count)
    ]
    pool = {"name": "", "generation": 1, "resourceSliceCount": 1}
    return {"spec": {"driver": DRIVER, "pool": pool, "devices": devices}}


@contextmanager
def blind_scheduler(control: ClusterControl, folder: Path) -> Iterator[None]:
    """Run kube-scheduler without its gate for taints of devices, in place of the cluster's own."""
    pid = control.state().parts["scheduler"].pid
    text = Path(f"/proc/{pid}/cmdline").read_text()
    command = [one for one in text.split("\0") if one and not one.startswith("--feature-gates=")]
    control.stop("scheduler")
    gates = "--feature-gates=DRADeviceTaints=false,DRADeviceTaintRules=false"
    with (
        (folder / "scheduler.log").open("wb") as log,
        subprocess.Popen([*command, gates], stderr=log) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)
            control.start("scheduler")


def _devices(claim: object) -> list[tuple[str, str]]:
    assert isinstance(claim, dict)
    allocation = claim.get("status", {}).get("allocation") or {}
    return [(one["pool"], one["device"]) for one in allocation.get("devices", {}).get("results", [])]
