"""Reads the annotations device-joint-allocate and device-allocate-hint.

Source: Koordinator's proposal "Device Allocate Hint APIs"; requiredTopologyScope is a later field.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.labels import LabelSelector, label_selector
from scheduler_core.frontends.annotations.reading import annotation, choice

JOINT: Final = "device-joint-allocate"
HINT: Final = "device-allocate-hint"
GPU: Final = "gpu"
RDMA: Final = "rdma"
FPGA: Final = "fpga"
TYPES: Final = (GPU, RDMA, FPGA)
SAME_PCIE: Final = "SamePCIe"


class Strategy(StrEnum):
    """How many devices an amount means."""

    APPLY_FOR_ALL = "ApplyForAll"
    REQUESTS_AS_COUNT = "RequestsAsCount"


class Exclusive(StrEnum):
    """What other pods may not use: the device itself, or its PCIe scope."""

    DEVICE = "DeviceLevel"
    PCIE = "PCIeLevel"


class TopologyScope(StrEnum):
    """The scope that must contain all GPUs of a pod."""

    DEVICE = "Device"
    PCIE = "PCIe"
    NUMA = "NUMANode"
    NODE = "Node"


@dataclass(frozen=True, slots=True)
class Joint:
    """Types whose devices are chosen together. Shape: ``types`` in the order of the annotation, each once."""

    types: tuple[str, ...]
    is_same_pcie: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """The hints for one type of device. Shape: None where the annotation has none."""

    selector: LabelSelector | None = None
    vf_selector: LabelSelector | None = None
    strategy: Strategy | None = None
    exclusive: Exclusive | None = None
    scope: TopologyScope | None = None


def joint_of(
    subject: str, value: object, known: tuple[str, ...] = TYPES, error: type[InvalidInput] = InvalidPod
) -> Joint:
    """Return the joint annotation.

    Shape: ``known`` are the names that may be grouped: types of a pod's devices, or requests of a claim.
    """
    fields = annotation(subject, JOINT, value, error)
    fields.only("deviceTypes", "requiredScope")
    types = fields.texts("deviceTypes")
    for index, one in enumerate(types):
        if one not in known:
            raise fields.refuse(f"deviceTypes[{index}]", f"must be one of {', '.join(known)}", one)
        if one in types[:index]:
            raise fields.refuse(f"deviceTypes[{index}]", "is listed twice", one)
    return Joint(types, choice(fields, "requiredScope", (SAME_PCIE,)) is not None)


def hints_of(subject: str, value: object) -> Mapping[str, Hint]:
    """Return the hint annotation. Shape: by type."""
    fields = annotation(subject, HINT, value, InvalidPod)
    fields.only(*TYPES)
    return {name: _hint(fields.child(name), name) for name in fields.values if fields.has(name)}


def _hint(fields: Fields, name: str) -> Hint:
    fields.only("selector", "vfSelector", "allocateStrategy", "exclusivePolicy", "requiredTopologyScope")
    if name == GPU and fields.has("vfSelector"):
        raise fields.refuse(
            "vfSelector", "is not for gpu, which has no virtual functions for pods; use it with rdma"
        )
    if name != GPU and fields.has("requiredTopologyScope"):
        raise fields.refuse(
            "requiredTopologyScope", "is for gpu only; requiredScope is for several types together"
        )
    strategy = choice(fields, "allocateStrategy", [one.value for one in Strategy])
    exclusive = choice(fields, "exclusivePolicy", [one.value for one in Exclusive])
    scope = choice(fields, "requiredTopologyScope", [one.value for one in TopologyScope])
    return Hint(
        selector=label_selector(fields, "selector"),
        vf_selector=label_selector(fields, "vfSelector"),
        strategy=Strategy(strategy) if strategy else None,
        exclusive=Exclusive(exclusive) if exclusive else None,
        scope=TopologyScope(scope) if scope else None,
    )
