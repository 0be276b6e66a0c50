"""Undoes what is left of claims whose pods ended while a GPU was lost, once the GPU is back.

Takes the records; a claim that is being undone, and on which nobody works, is undone again under its locks.
The record stays until that succeeds, so that nobody else gets what it holds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from agent.hardware.errors import HardwareError
from plugin.base.errors import LockTimeout, PluginError
from plugin.claim.record import Record
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.machine.lock_target import GPU
from plugin.machine.node import Node
from scheduler_core.model.claim import ClaimUid

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedClaims:
    """The claims of a node that are not undone to their end.

    Shape: ``settle`` undoes one of them; it raises LockTimeout at once where a call works on it.
    """

    store: RecordStore
    node: Node
    settle: Callable[[ClaimUid], None]
    _told: dict[ClaimUid, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def look_after(self) -> None:
        """Try to undo each of them. Errors are logged, each once."""
        try:
            census = self.store.census()
        except PluginError as error:
            _log.error("claims that are not undone to their end are not looked after: %s", error)
            return
        waiting = [record for record in census.records if record.state is State.UNDOING]
        for gone in self._told.keys() - {record.uid for record in waiting}:
            del self._told[gone]
        self._see_again(waiting)
        for record in waiting:
            self._try(record)

    def _see_again(self, waiting: Iterable[Record]) -> None:
        """Read the node again where a GPU was lost when it was read: it may be back, and in MIG mode."""
        known = self.node.snapshot.gpus
        targets = (target for record in waiting for target in record.lock_targets)
        if all(target.what != GPU or target.address in known for target in targets):
            return
        with suppress(HardwareError):  # the claims say what is wrong with their GPUs
            self.node.read_again()

    def _try(self, record: Record) -> None:
        try:
            self.settle(record.uid)
        except LockTimeout:  # a call works on it
            return
        except (PluginError, HardwareError) as error:
            if self._told.get(record.uid) != str(error):
                self._told[record.uid] = str(error)
                _log.warning("claim %s (%s): it is not undone to its end: %s", record.ref, record.uid, error)
