"""Descriptions of one node, look after look: what nothing has changed in is not worked out again.

Inventories enter, the devices to publish leave. Instances come and go with every claim and change no
device, only which of them are in use; that is not told here.
"""

from __future__ import annotations

from dataclasses import replace

from agent.hardware.types import MigMode
from agent.inventory.describe import as_mode_allows, describe
from agent.inventory.model import GpuEntry, Inventory, NodeDevices

_ANY_MODE = MigMode(current=False, pending=False)


class Describer:
    """Describes what is offered of one node. Remembers the last answer; for one thread."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._last: tuple[Inventory, NodeDevices] | None = None

    def devices(self, inventory: Inventory) -> NodeDevices:
        """Return what to publish: the very same object while nothing of it has changed.

        Shape: the GPUs in it say nothing of their present MIG mode.
        """
        offered = _at_rest(as_mode_allows(inventory))
        if self._last is None or self._last[0] != offered:
            self._last = offered, describe(offered, self._driver)
        return self._last[1]


def _at_rest(inventory: Inventory) -> Inventory:
    """Return an inventory without what claims change; what the mode allows has been decided."""
    return replace(inventory, gpus=tuple(_entry_at_rest(entry) for entry in inventory.gpus))


def _entry_at_rest(entry: GpuEntry) -> GpuEntry:
    mode = None if entry.gpu.mig is None else _ANY_MODE
    return replace(entry, gpu=replace(entry.gpu, mig=mode), instances=())
