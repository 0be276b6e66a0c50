"""What the plugin knows of its node: the agent's inventory, read once and again when it has to be.

Readers enter, devices leave. Reading touches every GPU, a slow one too, so nothing on the path of a claim
waits for it, unless the claim names a device that was not there before.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from agent.hardware.ports import Readers
from agent.hardware.types import Gpu, GpuInstance, GpuUuid
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import Inventory, LinkedGpus, NodeDevices


@dataclass(frozen=True, slots=True)
class Picture:
    """One reading of the node."""

    inventory: Inventory
    devices: NodeDevices

    def gpu(self, uuid: GpuUuid) -> Gpu | None:
        """Return a GPU, None where it could not be read."""
        return next((entry.gpu for entry in self.inventory.gpus if entry.gpu.uuid == uuid), None)

    def instances(self) -> dict[GpuUuid, tuple[GpuInstance, ...]]:
        """Return what every GPU was cut into."""
        return {entry.gpu.uuid: entry.instances for entry in self.inventory.gpus}


class Node:
    """The node of one driver. Shape: ``linked`` the table of partitions that the agent has too, or None."""

    def __init__(self, readers: Readers, name: str, driver: str, linked: LinkedGpus | None = None) -> None:
        self._readers = readers
        self._name = name
        self._driver = driver
        self._linked = linked
        self._reading = threading.Lock()
        self._picture: Picture | None = None

    @property
    def picture(self) -> Picture:
        """Return the last reading; the first is made here."""
        return self._picture or self.read_again()

    def read_again(self) -> Picture:
        """Read the node anew. Readers of one moment share a reading one after the other."""
        with self._reading:
            inventory = replace(discover(self._readers, self._name), linked=self._linked)
            self._picture = Picture(inventory, describe(inventory, self._driver))
            return self._picture
