"""What NVIDIA's DCGM exporter makes of slices and of the kubelet's answer, step by step as it does.

Source: NVIDIA/dcgm-exporter, internal/pkg/transformation: ``dra.go`` (onAddOrUpdate, GetDeviceInfo) and
``kubernetes.go`` (toDeviceToPodsDRA).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

DRIVER: Final = "gpu.nvidia.com"
"""The only driver whose slices and claims the exporter looks at."""


@dataclass(frozen=True)
class PodResource:
    """One device of a pod, as the kubelet's PodResources API lists it, by names of the plugin's answer."""

    pod: str
    driver: str
    pool: str
    device: str


def seen_by_exporter(slices: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return what the exporter keeps of slices, by pool and device."""
    found: dict[str, dict[str, str]] = {}
    for one in slices:
        if one["spec"]["driver"] != DRIVER:
            continue
        for device in one["spec"].get("devices") or ():
            texts = {key: str(value.get("string", "")) for key, value in device.get("attributes", {}).items()}
            place = f"{one['spec']['pool']['name']}/{device['name']}"
            if texts.get("type") == "gpu" and texts.get("uuid"):
                found[place] = {"uuid": texts["uuid"]}
            elif texts.get("type") == "mig" and texts.get("parentUUID"):
                found[place] = {key: texts.get(key, "") for key in ("parentUUID", "profile", "uuid")}
    return found


def pods_of_gpus(slices: Iterable[Mapping[str, Any]], listed: Iterable[PodResource]) -> dict[str, list[str]]:
    """Return the pods that the exporter writes beside the figures of a GPU, by the GPU's UUID."""
    known, pods = seen_by_exporter(slices), dict[str, list[str]]()
    for one in listed:
        if one.driver != DRIVER:
            continue
        info = known.get(f"{one.pool}/{one.device}", {})
        uuid = info.get("parentUUID") or info.get("uuid")
        if uuid and one.pod not in pods.setdefault(uuid, []):
            pods[uuid].append(one.pod)
    return pods
