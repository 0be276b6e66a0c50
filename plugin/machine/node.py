"""The devices of this node: the agent's inventory, read once and again where it must be.

Takes readers; returns a snapshot. Reading touches every GPU, a slow one too. So no claim waits for it, unless
the claim names a device that the last snapshot lacks.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.hardware.errors import TimedOut
from agent.hardware.ports import Readers
from agent.hardware.types import Gpu, GpuInstance, GpuUuid
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import NO_FABRIC, Fabric, LinkedGpus, NodeDevices, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.published import Hardware, MigComputeInstance, MigPartition
from agent.inventory.vfs.rules import VfRules
from plugin.base.in_flight import HUNG_AFTER_S
from plugin.machine.lock_target import LockTarget
from plugin.machine.texts import gpu_text


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """One reading of the node.

    Shape: ``gpus`` those that could be read, among them every GPU of ``devices``; ``instances`` the GIs of
           each of them; ``fabric`` how they are joined.
    """

    devices: NodeDevices
    gpus: Mapping[GpuUuid, Gpu]
    instances: Mapping[GpuUuid, tuple[GpuInstance, ...]]
    fabric: Fabric = NO_FABRIC

    def has_graphics(self, hardware: Hardware) -> bool:
        """Whether a MIG device is of a profile with graphics."""
        name = self.devices.by_hardware.get(hardware)
        found = None if name is None else self.devices.by_name[name]
        return isinstance(found, MigPartition | MigComputeInstance) and found.profile.has_graphics

    def text_of(self, target: LockTarget) -> str:
        """Return how messages name what is locked."""
        gpu = self.gpus.get(GpuUuid(target.address))
        return gpu_text(gpu) if gpu else str(target)


class Node:
    """The node of one driver. Units: ``reading_s`` how many seconds another's reading is waited for.

    Shape: ``name`` its own and its pool's; ``linked`` the table of partitions, ``modes`` in which the GPUs
           are offered, ``split`` those whose GPU instances are in parts, ``imex_channels`` how many are
           offered, ``vfs`` the rules for VFs; all as the agent has them.
    """

    def __init__(
        self,
        readers: Readers,
        name: str,
        driver: str,
        linked: LinkedGpus | None = None,
        modes: GpuModes | None = None,
        *,
        imex_channels: int = 0,
        vfs: VfRules | None = None,
        split: SplitGpus | None = None,
        reading_s: float = HUNG_AFTER_S,
    ) -> None:
        self._readers = readers
        self.name = name
        self._driver = driver
        self._linked = linked
        self._modes = modes or GpuModes()
        self._imex_channels = imex_channels
        self._vfs = vfs
        self._split = split
        self._reading_s = reading_s
        self._reading = threading.Lock()
        self._snapshot: NodeSnapshot | None = None

    @property
    def snapshot(self) -> NodeSnapshot:
        """Return the last reading; the first is made here."""
        return self._snapshot or self.read_again()

    def read_again(self) -> NodeSnapshot:
        """Read the node anew. Concurrent callers read one after the other.

        Raises: HardwareError; TimedOut where another's reading does not end.
        """
        if not self._reading.acquire(timeout=self._reading_s):
            reason = f"another reading has not come to its end for {self._reading_s:g} s"
            raise TimedOut("reading", f"node {self.name}", reason)
        try:
            inventory = discover(self._readers, self.name)
            inventory = replace(
                inventory,
                linked=self._linked,
                modes=self._modes,
                split=self._split,
                imex_channels=self._imex_channels,
                vfs=self._vfs,
            )
            self._snapshot = NodeSnapshot(
                describe(inventory, self._driver),
                {entry.gpu.uuid: entry.gpu for entry in inventory.gpus},
                {entry.gpu.uuid: entry.instances for entry in inventory.gpus},
                inventory.fabric,
            )
            return self._snapshot
        finally:
            self._reading.release()
