"""Objects of a cluster for the page: nodes with what a DGX A100 publishes, claims that hold devices, pods."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from short_folders import short_folder

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from tangram.node_sizes import FORMS
from tangram.showing.node import shown_of

DRIVER = "tangram.dev"
Object = Mapping[str, Any]


@cache
def _published() -> str:
    with short_folder() as folder:
        machine = SimulatedMachine.open(load_node("dgx-a100"), Path(folder) / "machine")
        return json.dumps(
            FORMS["v1"](shown_of(simulated_hardware(machine).readers, "dgx-a100", DRIVER).devices)
        )


def node(name: str) -> list[Object]:
    """Return a node and its slices."""
    slices = json.loads(_published().replace("dgx-a100", name))
    made = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    return [made, *slices]


def small_node(name: str) -> list[Object]:
    """Return a node with one GPU that has no memory slices."""
    device = {"name": "gpu-0", "attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{name}"}}}
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{DRIVER}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    }
    status = {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}}
    return [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}, made]


def device_class(kind: str = "mig") -> Object:
    expression = f"device.attributes['{DRIVER}'].type == '{kind}'"
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": f"{kind}.{DRIVER}"},
        "spec": spec,
    }


def claim(namespace: str, name: str, kind: str = "mig", profile: str = "") -> dict[str, Any]:
    """Return a claim for one device."""
    exactly: dict[str, Any] = {"deviceClassName": f"{kind}.{DRIVER}"}
    if profile:
        expression = f"device.attributes['{DRIVER}'].profile == '{profile}'"
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"},
        "spec": {"devices": {"requests": [{"name": "device", "exactly": exactly}]}},
    }


def held(namespace: str, name: str, on: str, devices: Sequence[str], *pods: str) -> dict[str, Any]:
    """Return a claim that holds devices of a node, for pods."""
    results = [{"request": "device", "driver": DRIVER, "pool": on, "device": one} for one in devices]
    selector = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
    }
    return claim(namespace, name) | {
        "status": {
            "allocation": {"devices": {"results": results}, "nodeSelector": selector},
            "reservedFor": [
                {"resource": "pods", "name": pod, "uid": f"pod {namespace}/{pod}"} for pod in pods
            ],
        }
    }


def pod(namespace: str, name: str, claim_name: str, on: str = "") -> dict[str, Any]:
    """Return a pod that uses a claim; without a node it waits."""
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": "example.com/main"}],
        "resourceClaims": [{"name": "device", "resourceClaimName": claim_name}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"pod {namespace}/{name}",
            "creationTimestamp": "2026-05-04T08:00:00Z",
        },
        "spec": spec | ({"nodeName": on} if on else {}),
        "status": {"phase": "Running" if on else "Pending"},
    }


def running(namespace: str, name: str, on: str, *devices: str) -> list[Object]:
    """Return a pod that runs, and its claim."""
    return [held(namespace, f"{name}-gpu", on, devices, name), pod(namespace, name, f"{name}-gpu", on)]


def waiting(namespace: str, name: str, kind: str = "gpu", profile: str = "") -> list[Object]:
    """Return a pod that waits, and its claim."""
    return [claim(namespace, f"{name}-gpu", kind, profile), pod(namespace, name, f"{name}-gpu")]


def small_cluster() -> list[Object]:
    """Return two nodes on which three namespaces hold devices, and two pods that wait."""
    found = [*node("dgx-1"), *node("dgx-2"), device_class("gpu"), device_class("mig"), device_class("vf")]
    found += running("research", "train-0", "dgx-1", "gpu-0", "nic-0000-0c-00-0-vf-0")
    found += running("research", "train-1", "dgx-1", "gpu-1", "nic-0000-0c-00-0-vf-1")
    found += running("recsys", "rank-0", "dgx-1", "gpu-2-mig-3g-20gb-0-3")
    found += running("recsys", "rank-1", "dgx-1", "gpu-2-mig-1g-5gb-4")
    found += running("vision", "infer-0", "dgx-1", "gpu-2-mig-1g-5gb-6")
    found += running("vision", "infer-1", "dgx-1", "gpu-4-mig-2g-10gb-2-3")
    found += running("vision", "infer-2", "dgx-1", "gpu-5-mig-1g-5gb-3", "nic-0000-8d-00-0-vf-4")
    found += running("recsys", "rank-2", "dgx-1", "gpu-6-mig-4g-20gb-0-3")
    found += running("vision", "notebook-0", "dgx-1", "gpu-6-mig-3g-20gb-4-7")
    for number in range(8):
        found += running(
            "research" if number < 5 else "speech",
            f"llm-{number}",
            "dgx-2",
            f"gpu-{number}-mig-1g-5gb-{number % 7}",
        )
    found += waiting("vision", "infer-9", "mig", "9g.90gb")
    found += waiting("speech", "tts-0", "gpu")
    return found


def as_list(objects: Sequence[Object]) -> str:
    """Return a file of the objects, as ``kubectl get -o json`` writes it."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
