"""Turns the MIG mode on where it is to stay on, before the first claim needs it: no claim waits for a reset.

Takes the policy of the GPUs and the records; each change is made under the lock of its GPU, and of no GPU
that a claim has. What fails is logged once and tried again at the next look; the first claim tries it, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agent.hardware.errors import HardwareError
from agent.hardware.types import GpuUuid
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import PluginError
from plugin.base.locks import Locks
from plugin.claim.record_store import RecordStore
from plugin.machine.lock_target import GPU, LockTarget
from plugin.machine.mig.modes import MigModes
from plugin.machine.node import Node
from plugin.machine.texts import gpu_text

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeCare:
    """Looks after the modes that stay on. Any number of processes may do so at once."""

    modes: Callable[[], MigModes]
    node: Node
    store: RecordStore
    locks: Locks
    _told: dict[GpuUuid, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def look_after(self) -> None:
        """Turn on every mode that is to stay and is off. Errors are logged, each once."""
        try:
            kept = tuple(self._kept())
        except HardwareError as error:
            _log.error("MIG modes that are to stay on are not looked after: %s", error)
            return
        for gpu in kept:
            try:
                self._turn_on(gpu)
                self._told.pop(gpu.uuid, None)
            except (PluginError, HardwareError) as error:
                if self._told.get(gpu.uuid) != str(error):
                    self._told[gpu.uuid] = str(error)
                    _log.error("%s is to stay in MIG mode: %s", gpu_text(gpu), error)

    def _kept(self) -> Iterator[NumberedGpu]:
        for gpu in self.node.snapshot.gpus.values():
            if gpu.mig is not None and self.node.modes.of(gpu.number).keeps_mig:
                yield gpu

    def _turn_on(self, gpu: NumberedGpu) -> None:
        target = LockTarget(GPU, gpu.uuid)
        with self.locks.hold(target.name, gpu_text(gpu), "turn its MIG mode on"):
            census = self.store.census()
            # A claim in quarantine may hold any GPU whole.
            if not census.quarantined and not any(target in one.lock_targets for one in census.records):
                self.modes().turn_on(gpu)
