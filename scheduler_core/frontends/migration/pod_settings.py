"""What pods say of GPUs and VFs outside their resources, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.frontends.migration.containers import Container
from scheduler_core.frontends.migration.values import Asked, Notes, entries, mapping

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
    for place, label, values in _demanded_labels(spec, f"{prefix}spec"):
        is_cut = any("-MIG-" in value or value.endswith("-SHARED") for value in values)
        if label.startswith(_CUT_LABELS) or (label == _PRODUCT and is_cut):
            reason = f"{label}: says how a node is cut beforehand; here a partition is made for its claim"
            notes.add(place, reason)
    asks_for_vfs = any(name in given for one in containers for name in one.amounts)
    if asks_for_vfs and _NETWORKS in mapping(mapping(pod.get("metadata")).get("annotations")):
        reason = f"{_NETWORKS}: Multus finds the VFs of claims only with --multus-resource; see docs/kinds.md"
        notes.add(f"{prefix}metadata.annotations", reason)


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
