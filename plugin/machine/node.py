"""The devices of this node: the agent's inventory, read once and again where it must be.

Takes readers; returns a snapshot. Reading touches every GPU, a slow one too. So no claim waits for it, unless
the claim names a device that the last snapshot lacks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.hardware.ports import Readers
from agent.hardware.types import GpuInstance, GpuUuid
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import NO_FABRIC, Fabric, LinkedGpus, NodeDevices, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.numbers.kept import NumbersUnknown
from agent.inventory.numbers.numbering import NumberedGpu, Numbering, in_pci_order
from agent.inventory.vfs.rules import VfRules
from plugin.machine.lock_target import LockTarget
from plugin.machine.texts import gpu_text

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """One reading of the node.

    Shape: ``gpus`` those that could be read, among them every GPU of ``devices``; ``instances`` the GIs of
           each of them; ``fabric`` how they are joined.
    """

    devices: NodeDevices
    gpus: Mapping[GpuUuid, NumberedGpu]
    instances: Mapping[GpuUuid, tuple[GpuInstance, ...]]
    fabric: Fabric = NO_FABRIC

    def text_of(self, target: LockTarget) -> str:
        """Return how messages name what is locked."""
        gpu = self.gpus.get(GpuUuid(target.address))
        return gpu_text(gpu) if gpu else str(target)


class Node:
    """The node of one driver.

    Shape: ``linked`` the table of partitions, ``modes`` in which the GPUs are offered, ``split`` those whose
           GPU instances are in parts, ``imex_channels`` how many are offered, ``vfs`` the rules for VFs,
           ``numbering`` gives the GPUs their numbers; all as the agent has them.
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
        numbering: Numbering = in_pci_order,
    ) -> None:
        self._readers = readers
        self._name = name
        self._driver = driver
        self._linked = linked
        self._modes = modes or GpuModes()
        self._imex_channels = imex_channels
        self._vfs = vfs
        self._split = split
        self._numbering = numbering
        self._reading = threading.Lock()
        self._snapshot: NodeSnapshot | None = None

    @property
    def name(self) -> str:
        """Return the name of the node and of its pool."""
        return self._name

    @property
    def snapshot(self) -> NodeSnapshot:
        """Return the last reading; the first is made here."""
        return self._snapshot or self.read_again()

    def read_again(self) -> NodeSnapshot:
        """Read the node anew. Concurrent callers read one after the other.

        Raises: NumbersUnknown while nobody can say which GPU has which name; HardwareError.
        """
        with self._reading:
            self._snapshot = self._read(self._numbering)
            return self._snapshot

    def read_for_repairs(self) -> NodeSnapshot:
        """Read the node anew, for who finds devices by UUIDs and addresses: names may be unknown yet.

        Raises: HardwareError.
        """
        try:
            return self.read_again()
        except NumbersUnknown as error:
            _log.warning("%s; no claim is prepared before", error)
            return self._read(in_pci_order)

    def _read(self, numbering: Numbering) -> NodeSnapshot:
        inventory = replace(
            discover(self._readers, self._name, numbering),
            linked=self._linked,
            modes=self._modes,
            split=self._split,
            imex_channels=self._imex_channels,
            vfs=self._vfs,
        )
        return NodeSnapshot(
            describe(inventory, self._driver),
            {entry.gpu.uuid: entry.gpu for entry in inventory.gpus},
            {entry.gpu.uuid: entry.instances for entry in inventory.gpus},
            inventory.fabric,
        )
