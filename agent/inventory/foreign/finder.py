"""Looks for foreign instances: reads the instances of the machine, then the records of the claims.

The order matters. A record is durable before its instance is made, so whoever reads the instances first finds
the record of each that is being made. And a record goes after its instance, so what no record explains is
looked at again: an instance that was just destroyed is not there any more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from agent.hardware.errors import HardwareError
from agent.hardware.ports import GpuReader
from agent.hardware.types import GpuInstance, GpuUuid
from agent.inventory.foreign.found import FoundForeign
from agent.inventory.foreign.record_folder import RecordsUnknown
from agent.inventory.foreign.records import Records
from agent.inventory.foreign.rule import foreign_in
from agent.inventory.model import GpuEntry, Inventory

_log = logging.getLogger(__name__)
_MOST_LOOKS: Final = 5
Present = Mapping[GpuUuid, tuple[GpuInstance, ...]]


class ForeignFinder:
    """Finds the foreign instances of a node, one inventory after the other. For one thread.

    Shape: ``records`` returns what the records say of a boot, and may raise RecordsUnknown.
    """

    def __init__(self, reader: GpuReader, records: Callable[[str], Records]) -> None:
        self._reader = reader
        self._records = records
        self._last: tuple[FoundForeign, ...] = ()
        self._told = ""

    def __call__(self, inventory: Inventory) -> tuple[FoundForeign, ...]:
        """Return what no record explains. While nobody can read the records, what was foreign stays so."""
        try:
            self._last = self._found(inventory)
            self._told = ""
        except RecordsUnknown as error:
            if str(error) != self._told:
                _log.warning("it is not known which MIG instances are those of claims: %s", error)
            self._told = str(error)
            there = {one for entry in inventory.gpus for one in entry.instances}
            self._last = tuple(one for one in self._last if one.what.instance in there)
        return self._last

    def _found(self, inventory: Inventory) -> tuple[FoundForeign, ...]:
        entries = [entry for entry in inventory.gpus if entry.instances]
        if not entries:
            return ()
        found = self._look(entries, {entry.gpu.uuid: entry.instances for entry in entries}, inventory)
        for _ in range(_MOST_LOOKS):
            if not found:
                return ()
            before, found = found, self._look(entries, self._present(entries), inventory)
            if set(found) <= set(before):
                return found
        return tuple(one for one in found if one in before)

    def _look(
        self, entries: Iterable[GpuEntry], present: Present, inventory: Inventory
    ) -> tuple[FoundForeign, ...]:
        """Compare instances that were just read with the records. Raises: RecordsUnknown."""
        records = self._records(inventory.boot_id)
        return tuple(
            FoundForeign(entry.gpu, what, records.damaged)
            for entry in entries
            for what in foreign_in(present[entry.gpu.uuid], records.held)
        )

    def _present(self, entries: Iterable[GpuEntry]) -> Present:
        return {entry.gpu.uuid: self._instances(entry) for entry in entries}

    def _instances(self, entry: GpuEntry) -> tuple[GpuInstance, ...]:
        """Return the instances of a GPU now; of one that cannot be read, those that it had."""
        try:
            return self._reader.gpu_instances(entry.gpu.uuid)
        except HardwareError:
            return entry.instances
