"""Caches the description of a node while its inventory is unchanged.

Takes inventories; returns the devices to publish. Claims create and destroy MIG instances all the time; that
changes which devices are in use, not which devices there are, so it does not count as a change.
"""

from __future__ import annotations

from dataclasses import replace

from agent.hardware.types import MigMode
from agent.inventory.describe import describe
from agent.inventory.model import GpuEntry, Inventory, NodeDevices
from agent.inventory.offered import offered

_ANY_MODE = MigMode(current=False, pending=False)


class Describer:
    """Describes the devices that a node offers, and caches the last result. For one thread."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._read: Inventory | None = None
        self._last: tuple[Inventory, NodeDevices] | None = None

    def devices(self, inventory: Inventory) -> NodeDevices:
        """Return the devices to publish: the identical object while nothing about them has changed.

        Shape: the GPUs in it have no present MIG mode.
        """
        if self._last is None or self._read != inventory:  # what is offered follows from what was read
            found = _at_rest(offered(inventory))
            if self._last is None or self._last[0] != found:
                self._last = found, describe(found, self._driver)
            self._read = inventory
        return self._last[1]


def _at_rest(inventory: Inventory) -> Inventory:
    """Return an inventory without what claims change; the MIG mode has been taken into account before."""
    partitions = tuple(replace(one, is_active=False) for one in inventory.fabric.partitions)
    return replace(
        inventory,
        gpus=tuple(_entry_at_rest(entry) for entry in inventory.gpus),
        fabric=replace(inventory.fabric, partitions=partitions),
    )


def _entry_at_rest(entry: GpuEntry) -> GpuEntry:
    mode = None if entry.gpu.mig is None else _ANY_MODE
    return replace(entry, gpu=replace(entry.gpu, mig=mode), instances=())
