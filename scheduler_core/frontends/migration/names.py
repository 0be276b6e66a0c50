"""The names of NVIDIA's DRA driver and device plugin, and what stands for them here.

Source: NVIDIA's DRA driver at commit 95932046; docs/migrate has the same tables for people.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from scheduler_core.model.names import DEFAULT_DRIVER

DRIVER: Final = "gpu.nvidia.com"
GPU_CLASS: Final = f"gpu.{DEFAULT_DRIVER}"
MIG_CLASS: Final = f"mig.{DEFAULT_DRIVER}"
CLASSES: Final[Mapping[str, str]] = {DRIVER: GPU_CLASS, "mig.nvidia.com": MIG_CLASS}
"""Classes of NVIDIA's driver for which there is one here."""

_NO_DOMAINS: Final = "there are no ComputeDomains here; IMEX channels are devices of type imex-channel"
_NO_VIRTUAL: Final = "GPUs for virtual machines are not prepared here"
LOST_CLASSES: Final[Mapping[str, str]] = {
    "vfio.gpu.nvidia.com": _NO_VIRTUAL,
    "compute-domain-daemon.nvidia.com": _NO_DOMAINS,
    "compute-domain-default-channel.nvidia.com": _NO_DOMAINS,
}
LOST_DRIVERS: Final[Mapping[str, str]] = {"compute-domain.nvidia.com": _NO_DOMAINS}
COMPUTE_DOMAIN: Final = _NO_DOMAINS

_EQUAL_ATTRIBUTES: Final = frozenset(
    (
        "type",
        "uuid",
        "parentUUID",
        "profile",
        "productName",
        "brand",
        "architecture",
        "cudaComputeCapability",
        "driverVersion",
        "cudaDriverVersion",
    )
)
_EQUAL_CAPACITIES: Final = frozenset(
    (
        "memory",
        "multiprocessors",
        "copyEngines",
        "decoders",
        "encoders",
        "jpegEngines",
        "ofaEngines",
    )
)
_MEMORY_SLICE: Final = re.compile(r"memorySlice[0-9]+")
_JOINED: Final = "GPUs that are joined are one device here: claim a partition of the fabric"
_LOST_ATTRIBUTES: Final[Mapping[str, str]] = {
    "addressingMode": "nothing here says it",
    "gpuModuleID": _JOINED,
    **{f"partition{count}": _JOINED for count in (1, 2, 4, 8)},
    **dict.fromkeys(("deviceID", "vendorID", "iommuFDEnabled", "addressableMemory"), _NO_VIRTUAL),
    "shares": "a share of a GPU is memory here, not a number of shares",
}
TYPES: Final = ("gpu", "mig")
"""Values of the attribute ``type`` that mean the same here."""


def lost_value(kind: str, identifier: str) -> str | None:
    """Return why an attribute or capacity of NVIDIA's driver cannot be read here; None where it can.

    Shape: ``kind`` is attributes or capacity.
    """
    if identifier in (_EQUAL_ATTRIBUTES if kind == "attributes" else _EQUAL_CAPACITIES):
        return None
    if kind == "capacity" and _MEMORY_SLICE.fullmatch(identifier):
        return None
    noun = "attribute" if kind == "attributes" else "capacity"
    return f"{noun} {identifier}: {_LOST_ATTRIBUTES.get(identifier, 'devices here have none of this name')}"
