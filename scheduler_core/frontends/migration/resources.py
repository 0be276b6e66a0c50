"""Names of device plugins' resources: which of them become claims, and why others do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.quantity import NANO, Quantity
from scheduler_core.frontends.admission.asked_pod import is_amount
from scheduler_core.frontends.migration.names import CLASSES, GPU_CLASS, LOST_CLASSES, MIG_CLASS
from scheduler_core.frontends.migration.values import Asked
from scheduler_core.model.names import DEFAULT_DRIVER

_NVIDIA: Final = "nvidia.com/"
_MIG: Final = re.compile(
    r"nvidia\.com/mig-(?P<profile>[0-9]+g\.[0-9]+gb)(?P<plus>\.(?:me\.all|me|gfx))?(?P<minus>-me)?"
)
_OF_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_SHARES: Final = frozenset(
    (
        *("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "nvidia.com/priority"),
        *("volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage"),
        *("volcano.sh/vgpu-cores", "volcano.sh/gpu-memory", "volcano.sh/gpu-number"),
        *("aliyun.com/gpu-mem", "aliyun.com/gpu-count", "aliyun.com/gpu-core.percentage"),
        *("tencent.com/vcuda-core", "tencent.com/vcuda-memory"),
    )
)
"""Parts of GPUs by HAMi, Volcano, and the GPU sharing of Alibaba and Tencent.

Source: HAMi docs/config.md, which also counts ``nvidia.com/gpu`` as shares beside them.
"""
SHARE: Final = (
    "a share of a GPU is claimed by memory, of a device of type gpu-shared or gpu-mps; "
    "the container was left as it is; see docs/modes.md"
)
_NETWORK_DOMAINS: Final = ("openshift.io", "intel.com", "mellanox.com", "rdma")
"""Domains under which the SR-IOV operator and device plugin usually count VFs."""


def asked_by(resource: str, given: Mapping[str, Asked]) -> Asked | None:
    """Return what stands for a resource of a device plugin; None where nothing does.

    Shape: ``given`` by resource; it goes before what is known here.
    """
    if resource in given:
        return given[resource]
    if resource == f"{_NVIDIA}gpu":
        return Asked("gpu", GPU_CLASS)
    if resource.startswith(_OF_CLASS):
        found = CLASSES.get(resource.removeprefix(_OF_CLASS))
        return None if found is None else Asked("gpu" if found == GPU_CLASS else "mig", found)
    match = _MIG.fullmatch(resource)
    if match is None:
        return None
    profile = match["profile"] + (match["plus"] or "").replace(".", "+", 1) + (match["minus"] or "")
    name = re.sub("[^a-z0-9]+", "-", f"mig-{profile}")
    return Asked(name, MIG_CLASS, f'device.attributes["{DEFAULT_DRIVER}"].profile == "{profile}"')


def is_of_share(resource: str) -> bool:
    """Whether a resource asks another product for a share of a GPU."""
    return resource in _SHARES


def is_of_devices(resource: str) -> bool:
    """Whether a resource is of devices: of NVIDIA's, of another product's, or by the amounts of pods."""
    return resource in _SHARES or is_amount(resource, is_marked=True) or resource.startswith(_NVIDIA)


def why_not(resource: str) -> str | None:
    """Return why a resource that ``asked_by`` does not know stays; None where it is somebody else's."""
    if resource.startswith(_OF_CLASS):
        return LOST_CLASSES.get(resource.removeprefix(_OF_CLASS))
    domain, _, name = resource.partition("/")
    if not name:
        return None
    if domain == "nvidia.com":
        return _why_not_nvidia(name)
    if domain in _NETWORK_DOMAINS:
        return f"no class is known for it: say it with --sriov {resource}=CLASS"
    return None


def _why_not_nvidia(name: str) -> str:
    if name.endswith(".shared"):
        return "the plugin's configuration says how much a replica is: claim memory; see docs/modes.md"
    if re.match("mig-[0-9]+c", name):
        return (
            "compute instances are claimed by class and profile where the node offers them; see docs/kinds.md"
        )
    return "no device here is counted under this name; say its class with --sriov, if it is a NIC's"


def amount_of(value: Any) -> int | None:
    """Return a whole number of devices, None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        nano = Quantity.parse(str(value)).nano
    except ValueError:
        return None
    return nano // NANO if nano >= 0 and nano % NANO == 0 else None
