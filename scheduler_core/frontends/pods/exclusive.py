"""A pod's exclusivePolicy as a constraint of the core. It works in both directions, also for later pods.

Rivals are devices of the same type: a NIC excludes NICs of other pods below its switch, but not their GPUs.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.frontends.pods.hints import FPGA, GPU, RDMA, Exclusive
from scheduler_core.model.claim import ExclusiveScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.places import PCIE_ROOT, SWITCH

DEVICE_TYPES: Final = {GPU: ("gpu",), RDMA: ("nic", "vf")}
"""The values of the attribute ``type`` of pool devices, by the type that annotations use."""
GPU_PART: Final = "gpu-shared"
"""The value of ``type`` of devices of which pods that ask for less than a GPU have shares."""
LINKED: Final = "gpu-partition"
"""The value of ``type`` of devices that are several GPUs, joined by links."""
OFFERED_TYPES: Final = frozenset({"gpu", GPU_PART, LINKED, "nic", "vf", FPGA})
"""The values of ``type`` of all devices that pods can get by amounts."""
_RIVALS: Final = {
    **DEVICE_TYPES,
    GPU: ("gpu", GPU_PART, "gpu-mps", "mig", "compute-instance", LINKED),
}
"""The types that count as rivals. Parts of a GPU and partitions of GPUs count as well."""


def scopes_of(driver: str) -> tuple[QualifiedName, ...]:
    """Return what "same PCIe" compares: the switch where every candidate has one, else the root complex."""
    return (qualified(SWITCH, driver), PCIE_ROOT)


def exclusive_of(kind: str, policy: Exclusive, driver: str) -> ExclusiveScope:
    """Return the constraint of a policy for one type of device."""
    card = qualified("uuid" if kind == GPU else "pfPciAddress", driver)
    scopes = scopes_of(driver) if policy is Exclusive.PCIE else (card,)
    types = _RIVALS.get(kind, (kind,))
    return ExclusiveScope(scopes=scopes, kind=qualified("type", driver), values=types)
