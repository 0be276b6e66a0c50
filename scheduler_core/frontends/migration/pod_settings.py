"""What pods say of GPUs and VFs outside their resources, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.frontends.migration.containers import Container
from scheduler_core.frontends.migration.resources import SHARE
from scheduler_core.frontends.migration.values import Asked, Notes, entries, mapping
from scheduler_core.model.names import DEFAULT_DRIVER

_VISIBLE: Final = (
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_MIG_CONFIG_DEVICES",
    "NVIDIA_MIG_MONITOR_DEVICES",
)
_NETWORKS: Final = "k8s.v1.cni.cncf.io/networks"
_CUT_LABELS: Final = (
    "nvidia.com/mig.config",
    "nvidia.com/mig.strategy",
    "nvidia.com/mig-",
    "nvidia.com/gpu.replicas",
    "nvidia.com/gpu.sharing-strategy",
)
_PRODUCT: Final = "nvidia.com/gpu.product"
_LABEL_DOMAINS: Final = ("nvidia.com/", "node.koordinator.sh/gpu", "hami.io/", "volcano.sh/")
"""Prefixes of node labels that go with the product that writes them."""
_SELECTORS: Final = {
    _PRODUCT: "device.attributes[DRIVER].productName",
    "node.koordinator.sh/gpu-model": "device.attributes[DRIVER].productName",
    "nvidia.com/gpu.memory": "device.capacity[DRIVER].memory",
    "nvidia.com/gpu.family": "device.attributes[DRIVER].architecture",
    "nvidia.com/gpu.compute.major": "device.attributes[DRIVER].cudaComputeCapability",
    "nvidia.com/gpu.compute.minor": "device.attributes[DRIVER].cudaComputeCapability",
    "nvidia.com/cuda.driver": "device.attributes[DRIVER].driverVersion",
    "nvidia.com/cuda.driver-version": "device.attributes[DRIVER].driverVersion",
    "nvidia.com/cuda.runtime": "device.attributes[DRIVER].cudaDriverVersion",
    "nvidia.com/cuda.runtime-version": "device.attributes[DRIVER].cudaDriverVersion",
}
"""What a selector of a claim reads in the place of a label, by the label or its part before the last dot.

Source: k8s-device-plugin, docs/gpu-feature-discovery.
"""
_ANNOTATIONS: Final = {
    "gpu-fraction": SHARE,
    "gpu-memory": SHARE,
    **dict.fromkeys(
        ("nvidia.com/use-gputype", "nvidia.com/nouse-gputype"),
        f"a selector of the claim stands for it: {_SELECTORS[_PRODUCT]}",
    ),
    **dict.fromkeys(
        ("nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid"),
        "a selector of the claim stands for it: device.attributes[DRIVER].uuid",
    ),
}
"""What other products read of a pod's annotations: KAI Scheduler and Run:ai; HAMi."""
_OWN_SCHEDULERS: Final = ("", "default-scheduler")


def note_settings(
    pod: Mapping[str, Any],
    path: str,
    containers: Sequence[Container],
    given: Mapping[str, Asked],
    notes: Notes,
) -> None:
    """Note what has no effect here, or another one.

    Shape: ``path`` of the pod, empty for the object itself.
    """
    spec, prefix = mapping(pod.get("spec")), f"{path}." if path else ""
    for container in containers:
        for index, variable in entries(mapping(container.fields).get("env")):
            name = mapping(variable).get("name")
            if name in _VISIBLE:
                reason = f"{name}: containers get the devices of their claims, whatever it says; remove it"
                notes.add(f"{container.path}.env[{index}]", reason)
    runtime = spec.get("runtimeClassName")
    if isinstance(runtime, str) and runtime.startswith("nvidia"):
        reason = f"{runtime}: containers get their devices by CDI; this runtime may add others; remove it"
        notes.add(f"{prefix}spec.runtimeClassName", reason)
    annotations = mapping(mapping(pod.get("metadata")).get("annotations"))
    for name in annotations.keys() & _ANNOTATIONS.keys():
        notes.add(f"{prefix}metadata.annotations", f"{name}: {_with_driver(_ANNOTATIONS[name])}")
    has_devices = bool(spec.get("resourceClaims")) or any(one.asks_for_devices for one in containers)
    scheduler = str(spec.get("schedulerName") or "")
    if scheduler not in _OWN_SCHEDULERS and (has_devices or annotations.keys() & _ANNOTATIONS.keys()):
        reason = f"{scheduler}: kube-scheduler allocates the claims of pods; remove it"
        notes.add(f"{prefix}spec.schedulerName", reason)
    _note_labels(spec, f"{prefix}spec", notes, has_devices=has_devices)
    asks_for_vfs = any(name in given for one in containers for name in one.amounts)
    if asks_for_vfs and _NETWORKS in annotations:
        reason = f"{_NETWORKS}: Multus finds the VFs of claims only with --multus-resource; see docs/kinds.md"
        notes.add(f"{prefix}metadata.annotations", reason)


def _note_labels(spec: Mapping[str, Any], path: str, notes: Notes, *, has_devices: bool) -> None:
    for place, label, values in _demanded_labels(spec, path):
        is_cut = any("-MIG-" in value or value.endswith("-SHARED") for value in values)
        selector = _SELECTORS.get(label) or _SELECTORS.get(label.rpartition(".")[0])
        if label.startswith(_CUT_LABELS) or (label == _PRODUCT and is_cut):
            reason = "says how a node is cut beforehand; here a partition is made for its claim"
        elif not has_devices or not label.startswith(_LABEL_DOMAINS):
            continue
        elif selector is None:
            reason = (
                "another product writes it; the claim already finds the nodes with its devices; remove it"
            )
        else:
            stands_for_it = f"a selector of the claim stands for it: {_with_driver(selector)}"
            reason = f"another product writes it; {stands_for_it}"
        notes.add(place, f"{label}: {reason}")


def _with_driver(text: str) -> str:
    return text.replace("DRIVER", f'"{DEFAULT_DRIVER}"')


def _demanded_labels(spec: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the path, name and values of every label that nodes must have, or should."""
    for label, value in mapping(spec.get("nodeSelector")).items():
        yield f"{path}.nodeSelector", str(label), (str(value),)
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [one for _, one in entries(required.get("nodeSelectorTerms"))]
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution")
    terms += [mapping(one).get("preference") for _, one in entries(preferred)]
    for term in terms:
        for _, one in entries(mapping(term).get("matchExpressions")):
            values = [str(value) for _, value in entries(mapping(one).get("values"))]
            yield f"{path}.affinity.nodeAffinity", str(mapping(one).get("key")), values
