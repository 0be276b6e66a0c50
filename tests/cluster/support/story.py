"""The shipped examples in a cluster, and what their containers see.

In go an example's name and perhaps the GPU that it shall use; out come pods, claims and what the container
printed. Waiting is ``cluster_support.eventually``; nothing here asserts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cluster_support import Document, eventually, running

from kube_api import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, RESOURCE_SLICES, KubeApi

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "deploy/examples/cluster"
DRIVER = "tangram.dev"
_GPU_NODE = re.compile(r"/dev/nvidia(\d+)")


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that nobody holds anything of. Simulated nodes may have GPUs of the same UUIDs."""

    node: str
    name: str
    uuid: str
    minor: int


@dataclass(frozen=True, slots=True)
class Sight:
    """What a container sees. Shape: ``devices`` UUIDs; ``gpus`` minors; ``capabilities`` device nodes."""

    devices: frozenset[str]
    gpus: frozenset[int]
    capabilities: frozenset[str]


def example(name: str) -> tuple[list[Document], Document]:
    """Return the claim templates and the pod of an example."""
    found = list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))
    templates = [one for one in found if one["kind"] == "ResourceClaimTemplate"]
    (pod,) = [one for one in found if one["kind"] == "Pod"]
    return templates, pod


def create(api: KubeApi, name: str, namespace: str, gpu: Gpu | None = None) -> str:
    """Create an example's objects, narrowed to one GPU if one is given; return the pod's name."""
    templates, pod = example(name)
    if gpu is not None:
        pod["spec"]["affinity"] = _only_on(gpu.node)
    for template in templates:
        if gpu is not None:
            _narrow(template, gpu)
        api.create(RESOURCE_CLAIM_TEMPLATES, template, namespace)
    api.create(PODS, pod, namespace)
    return str(pod["metadata"]["name"])


def sights(api: KubeApi, pod: str, namespace: str) -> dict[str, Sight]:
    """Wait until the pod runs and return what each of its containers sees."""
    document = running(api, pod, namespace)
    return {
        container["name"]: _sight(api, pod, namespace, container["name"])
        for container in document["spec"]["containers"]
    }


def published(api: KubeApi, pod: str, namespace: str) -> dict[str, dict[str, Any]]:
    """Return the published devices of the node that the pod is on, as ``devices`` does."""
    return devices(api, api.get(PODS, pod, namespace).document["spec"]["nodeName"])


def sight(api: KubeApi, pod: str, namespace: str) -> Sight:
    """Wait until the pod runs and return what its one container sees."""
    (seen,) = sights(api, pod, namespace).values()
    return seen


def claim(api: KubeApi, pod: str, namespace: str) -> Document:
    """Return the one claim that was made for a pod."""
    status = api.get(PODS, pod, namespace).document["status"]
    generated = status.get("resourceClaimStatuses") or [status["extendedResourceClaimStatus"]]
    (name,) = [one["resourceClaimName"] for one in generated]
    return dict(api.get(RESOURCE_CLAIMS, name, namespace).document)


def allocated(found: Document) -> dict[str, str]:
    """Return the devices of an allocated claim by request."""
    results = found["status"]["allocation"]["devices"]["results"]
    return {one["request"]: one["device"] for one in results}


def prepared(api: KubeApi, pod: str, namespace: str) -> frozenset[str]:
    """Return the UUIDs of the devices that the plugin says it has prepared for the pod's claim."""

    def told() -> frozenset[str]:
        found = claim(api, pod, namespace)
        devices = found["status"].get("devices", [])
        uuids = frozenset(one["data"]["uuid"] for one in devices if one["driver"] == DRIVER)
        return uuids if len(uuids) == len(allocated(found)) else frozenset()

    return eventually(told, f"claim.status.devices of pod {namespace}/{pod}")


def refusal(api: KubeApi, pod: str, namespace: str) -> str:
    """Wait until the scheduler has refused the pod and return why."""

    def told() -> str:
        conditions = api.get(PODS, pod, namespace).document["status"].get("conditions", [])
        return "".join(
            one["message"]
            for one in conditions
            if one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable"
        )

    return eventually(told, f"pod {namespace}/{pod} is refused by the scheduler")


def devices(api: KubeApi, node: str, driver: str = DRIVER) -> dict[str, dict[str, Any]]:
    """Return the attributes of the node's published devices by name, without the types of the values."""
    return {
        device["name"]: {name: value for name, one in device["attributes"].items() for value in one.values()}
        for found in slices(api, node, driver)
        for device in found["spec"].get("devices", [])
    }


def slices(api: KubeApi, node: str, driver: str = DRIVER) -> list[Document]:
    """Return the slices that a driver publishes for the node."""
    fields = f"spec.driver={driver},spec.nodeName={node}"
    return [dict(found.document) for found in api.list(RESOURCE_SLICES, field_selector=fields).items]


def free_gpu(api: KubeApi, node: str) -> Gpu:
    """Return a GPU of the node of which no claim holds anything."""
    known = devices(api, node)
    held = {
        result["device"]
        for found in api.list(RESOURCE_CLAIMS).items
        if (allocation := found.document.get("status", {}).get("allocation"))
        for result in allocation["devices"]["results"]
        if (result["driver"], result["pool"]) == (DRIVER, node)
    }
    taken = {known[name].get("parentUUID", known[name].get("uuid")) for name in held & known.keys()}
    for name, attributes in sorted(known.items()):
        if attributes["type"] == "gpu" and attributes["uuid"] not in taken:
            return Gpu(node, name, attributes["uuid"], attributes["minor"])
    raise AssertionError(f"every GPU of {node} is held")


def _only_on(node: str) -> Document:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _narrow(template: Document, gpu: Gpu) -> None:
    for request in template["spec"]["spec"]["devices"]["requests"]:
        for wanted in request.get("firstAvailable") or [request["exactly"]]:
            key = "uuid" if wanted["deviceClassName"].startswith("gpu.") else "parentUUID"
            expression = f'device.attributes["{DRIVER}"].{key} == "{gpu.uuid}"'
            wanted.setdefault("selectors", []).append({"cel": {"expression": expression}})


def _sight(api: KubeApi, pod: str, namespace: str, container: str) -> Sight:
    """Return what a container of an example has printed: variables, then device nodes, nvidiactl last."""
    path = f"{PODS.path(namespace, pod)}/log?container={container}"
    lines: list[str] = eventually(
        lambda: found if "/dev/nvidiactl" in (found := api.raw_get(path).splitlines()) else [],
        f"container {container} of {namespace}/{pod} has printed what it sees",
    )
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    numbered = (_GPU_NODE.fullmatch(line) for line in lines)
    return Sight(
        devices=frozenset(value for name, value in variables.items() if name.startswith("TANGRAM_DEVICE_")),
        gpus=frozenset(int(match[1]) for match in numbered if match),
        capabilities=frozenset(line for line in lines if line.startswith("/dev/nvidia-caps/")),
    )
