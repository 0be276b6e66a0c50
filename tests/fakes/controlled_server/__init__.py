"""The controller's program in front of a real API server, with objects that tests put there.

Takes documents of ``claims_at_server``; stores them at the server, and starts and ends controllers. There is
no scheduler, no kubelet and no agent: nodes and slices are as they were put.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from claims_at_server import claim, device_class, machine, node, pod

from controller.api import RESOURCE_CLASSES
from controller.lease_api import LEASES
from kube_api import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    KubeApi,
    KubeApiError,
    Resource,
)
from scheduler_core.model.ownership import GATE

Document = Mapping[str, Any]
NAMESPACE: Final = "default"
LEASE: Final = "tangram-controller"
_ROOT: Final = Path(__file__).parents[3]
_ACCOUNTS: Final = Resource.of("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
_BY_KIND: Final = {
    one.kind: one
    for one in (
        DEVICE_CLASSES,
        NODES,
        PODS,
        RESOURCE_CLAIM_TEMPLATES,
        RESOURCE_CLAIMS,
        RESOURCE_CLASSES,
        RESOURCE_SLICES,
    )
}
_PATIENCE_S: Final = 60.0


def eventually(is_so: Callable[[], bool], what: str, within_s: float = _PATIENCE_S) -> None:
    """Wait until something is so. Raises: AssertionError after the bound."""
    until = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.1)


class Controlled:
    """The objects of one real API server, as a test sees and changes them."""

    def __init__(self, api: KubeApi) -> None:
        self.api = api

    def prepare(self) -> None:
        """Make what every test needs: the account of pods, two classes, a Lease that was given back."""
        eventually(self._has_account, "the server has its first namespace")
        spec = {"leaseDurationSeconds": 15}  # so that the first controller need not wait
        self.api.create(LEASES, {"metadata": {"name": LEASE}, "spec": spec}, NAMESPACE)
        for kind in ("gpu", "half"):
            self.put("DeviceClass", device_class(kind))

    def put(self, kind: str, document: Document) -> Document:
        """Create an object. Raises: KubeApiError."""
        resource = _BY_KIND[kind]
        namespace = NAMESPACE if resource.namespaced else None
        return self.api.create(resource, _whole(resource, document), namespace).document

    def add_node(self, name: str, gpus: int = 2) -> None:
        """Create a node that the controller owns, and its slices."""
        self.put("Node", node(name))
        self.api.patch(NODES, name, {"spec": {"taints": None}})  # the server adds "not ready"
        for one in machine(name, gpus):
            self.put("ResourceSlice", one)

    def ask(self, name: str, kind: str = "half", count: int = 1) -> None:
        """Create a gated pod with one claim of its name."""
        self.put("ResourceClaim", claim(name, kind, count))
        self.put("Pod", pod(name, name))

    def drop(self, kind: str, name: str) -> None:
        """Delete an object. Raises: KubeApiError."""
        resource = _BY_KIND[kind]
        self.api.delete(resource, name, NAMESPACE if resource.namespaced else None)

    def all_of(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the objects of a kind by name."""
        resource = _BY_KIND[kind]
        found = self.api.list(resource, NAMESPACE if resource.namespaced else None)
        return {one.metadata.name: dict(one.document) for one in found.items}

    def gated(self) -> set[str]:
        """Return the names of the pods that have our gate."""
        return {
            name
            for name, one in self.all_of("Pod").items()
            if {"name": GATE} in (one["spec"].get("schedulingGates") or ())
        }

    def holders(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the claims that hold each device."""
        found: dict[str, tuple[str, ...]] = {}
        for name, one in self.all_of("ResourceClaim").items():
            allocation = (one.get("status") or {}).get("allocation") or {}
            for result in (allocation.get("devices") or {}).get("results", ()):
                device = f"{result['pool']}/{result['device']}"
                found[device] = (*found.get(device, ()), name)
        return found

    def double_gpus(self) -> dict[str, int]:
        """Return the GPUs of which more is held than they have, in halves."""
        taken = Counter[str]()
        for device, claims in self.holders().items():
            pool, _, name = device.partition("/")
            kind, gpu = name.split("-")[:2]
            taken[f"{pool}/{gpu}"] += len(claims) * (2 if kind == "gpu" else 1)
        return {gpu: count for gpu, count in taken.items() if count > 2}

    def clear(self) -> None:
        """Delete everything that tests put there, and the Lease."""
        for kind in ("Pod", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "Node", "DeviceClass"):
            self._delete_all(_BY_KIND[kind])
        for one in self.api.list(LEASES, NAMESPACE).items:
            self.api.delete(LEASES, one.metadata.name, NAMESPACE)

    def _delete_all(self, resource: Resource) -> None:
        for one in self.api.list(resource).items:
            metadata = one.metadata
            if one.document["metadata"].get("finalizers"):
                patch: Document = {"metadata": {"finalizers": None}}
                self.api.patch(resource, metadata.name, patch, metadata.namespace or None)
            self.api.delete(resource, metadata.name, metadata.namespace or None)

    def _has_account(self) -> bool:
        try:
            self.api.create(_ACCOUNTS, {"metadata": {"name": "default"}}, NAMESPACE)
        except KubeApiError as error:
            return "already exists" in str(error)
        return True


def _whole(resource: Resource, document: Document) -> dict[str, Any]:
    found = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
    if resource is PODS:
        spec = dict(document["spec"])
        spec["containers"] = [{"image": "none", **one} for one in spec["containers"]]
        found["spec"] = {**spec, "automountServiceAccountToken": False}
    return found


@contextmanager
def controlling(
    kubeconfig: Path, log: Path, *options: str, ahead_s: int = 0
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a controller while the block is open, and kill it afterwards. What it says goes to ``log``.

    Units: ``ahead_s`` is how far its wall clock is ahead of the true time.
    """
    program = (
        [str(Path(__file__).parent / "other_clock.py"), str(ahead_s)] if ahead_s else ["-m", "controller"]
    )
    command = [sys.executable, *program, "--kubeconfig", str(kubeconfig), "--namespace", NAMESPACE]
    with log.open("ab") as said:
        process = subprocess.Popen([*command, *options], stdout=said, stderr=said, cwd=_ROOT)
        try:
            yield process
        finally:
            process.kill()
            process.wait(30)
