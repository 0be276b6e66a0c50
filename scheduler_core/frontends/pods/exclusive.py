"""A pod's exclusivePolicy as a constraint of the core: what it forbids, it forbids both ways.

Rivals are devices of the same type: a NIC rules out NICs of other pods below its switch, not their GPUs.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.frontends.pods.hints import GPU, RDMA, Exclusive
from scheduler_core.model.claim import ExclusiveScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import qualified

PCIE_ROOT: Final = QualifiedName("resource.kubernetes.io/pcieRoot")
DEVICE_TYPES: Final = {GPU: ("gpu",), RDMA: ("nic", "vf")}
"""What the attribute ``type`` says of the devices that make up a unit. Shape: by type of the annotations."""
_RIVALS: Final = {**DEVICE_TYPES, GPU: ("gpu", "mig", "gpu-partition")}
"""What counts as use of a type: a part of a GPU, and a group of them, too."""


def scopes_of(driver: str) -> tuple[QualifiedName, ...]:
    """Return what "the same PCIe" compares: the switch where every candidate tells one, else the root."""
    return (qualified("pcieSwitch", driver), PCIE_ROOT)


def exclusive_of(kind: str, policy: Exclusive, driver: str) -> ExclusiveScope:
    """Return the constraint of a policy for one type of device."""
    card = qualified("uuid" if kind == GPU else "pfPciAddress", driver)
    scopes = scopes_of(driver) if policy is Exclusive.PCIE else (card,)
    types = _RIVALS.get(kind, (kind,))
    return ExclusiveScope(scopes=scopes, kind=qualified("type", driver), values=types)
