"""What a placed pod gets, and the key under which it holds devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId

if TYPE_CHECKING:  # reading an allocated pod must not load what chooses devices
    from scheduler_core.frontends.joint.node_device import NodeDevice


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """The devices of a pod.

    Shape: ``node_devices`` by type, in the order of their numbers; ``devices`` are the pool devices that each
           of them consists of.
    """

    node: str
    node_devices: Mapping[str, tuple[NodeDevice, ...]]
    devices: Mapping[str, tuple[tuple[DeviceId, ...], ...]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return the number of pool devices."""
        return sum(len(devices) for mine in self.devices.values() for devices in mine)


def pod_uid(ref: ClaimRef) -> ClaimUid:
    """Return the key under which a pod holds devices: no claim has it, also one of the pod's name."""
    return ClaimUid(f"pod {ref}")
