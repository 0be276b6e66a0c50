"""Does repairs, each under the lock of its claim: what was found without it is looked up again there.

At the start nobody calls yet, and a repair waits for its locks. Later a claim that a call works on is left to
the call: the next look sees what it left.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Final

from agent.hardware.errors import HardwareError
from plugin.base.budget import Budget
from plugin.base.errors import RecordUnusable
from plugin.claim.attribution import attributed
from plugin.claim.claim_locks import ClaimLocks
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.reconciling.programs import programs_on
from plugin.claim.record import Record
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.claim.steps import LOST, ClaimSteps
from scheduler_core.model.claim import ClaimRef, ClaimUid

PARKED: Final = "claim %s (%s): its pod may end; what is on the lost GPU stays held until it is back: %s"
_log = logging.getLogger(__name__)

WhyOver = Callable[[ClaimRef, Record | None], str]
"""Asks the API server why a claim is over, empty where it is not. Raises: PluginError where nobody knows."""


@dataclass(frozen=True, slots=True)
class Over:
    """A claim that is over. Shape: ``users`` the programs for which it was not undone, empty where it was."""

    ref: ClaimRef
    why: str
    users: str = ""


@dataclass(frozen=True, slots=True)
class Repairer:
    """Repairs the claims of one node."""

    steps: ClaimSteps
    locks: ClaimLocks

    @property
    def store(self) -> RecordStore:
        """Return the records."""
        return self.steps.store

    def prepared(self, uid: ClaimUid, boot_id: str) -> Record | None:
        """Return the record of a claim that is prepared, None of any other; the caller holds its lock.

        Raises: StorageFailed.
        """
        record = None if self.store.quarantined(uid) is not None else self.store.load(uid)
        is_prepared = record is not None and record.state is State.COMPLETED and record.boot_id == boot_id
        return record if is_prepared else None

    def write_metadata(self, uid: ClaimUid, boot_id: str, budget: Budget | None = None) -> None:
        """Write the metadata files of a prepared claim that are missing or say something else.

        Raises: PluginError.
        """
        with self.locks.claim(uid, f"write the metadata of claim {uid}", budget):
            record = self.prepared(uid, boot_id)
            if record is not None:
                self.steps.write_metadata(record)

    def settle(self, uid: ClaimUid, boot_id: str, budget: Budget | None = None) -> bool:
        """Undo a claim that is not complete, or not of this boot; return whether there was something to do.

        Another process may have completed it since somebody looked. Raises: PluginError, HardwareError.
        """
        with self.locks.claim(uid, f"repair claim {uid}", budget):
            found = self.store.quarantined(uid)
            if found is not None and (found.is_too_new or found.may_hold_in(boot_id)):
                return False
            if found is not None:
                self.end_quarantine(found, boot_id, budget)
                return True
            record = self.store.load(uid)
            if record is None:
                self.steps.remove_files(None, uid)
                self.store.remove(uid)
            elif record.state is State.COMPLETED and record.boot_id == boot_id:
                return False
            else:
                with self.locks.targets(record.lock_targets, f"repair claim {uid}", budget):
                    self.steps.end(record, boot_id)
            return True

    def end(self, uid: ClaimUid, boot_id: str, why_over: WhyOver, budget: Budget) -> Over | None:
        """Undo a claim if ``why_over`` still says that it is over, else return None.

        It is asked under the claim's lock: a pod that gets the claim later has it prepared anew. Where
        programs use GPUs that it would give up, nothing is undone. What is on a lost GPU is parked.
        Raises: PluginError, HardwareError.
        """
        with self.locks.claim(uid, f"undo claim {uid}, which is over", budget):
            found = self.store.quarantined(uid)
            record = self.store.load(uid) if found is None else found.record
            ref = record.ref if record is not None else found.known.ref if found is not None else None
            why = "" if ref is None else why_over(ref, record)
            if ref is None or not why:
                return None
            with self._targets(record, uid, budget):
                users = programs_on(self.steps, uid, boot_id)
                if not users:
                    _log.warning("claim %s (%s): %s; what it has here is undone", ref, uid, why)
                    if found is not None:
                        self._end_quarantine(found, boot_id)
                    elif record is not None:
                        self._undo(record, boot_id)
                return Over(ref, why, users)

    def end_quarantine(self, found: Quarantined, boot_id: str, budget: Budget | None = None) -> None:
        """Undo what a claim in quarantine may hold, and park what is on a lost GPU.

        The caller holds the claim's lock. Raises: PluginError.
        """
        with suppress(RecordUnusable, HardwareError):  # what is not known of its instances is the operator's
            found = self.steps.completed(found, ClaimRef("", found.uid))
        with self._targets(found.record, found.uid, budget):
            self._end_quarantine(found, boot_id)

    def _targets(
        self, record: Record | None, uid: ClaimUid, budget: Budget | None
    ) -> AbstractContextManager[None]:
        targets = () if record is None else record.lock_targets
        return self.locks.targets(targets, f"undo claim {uid}", budget)

    def _end_quarantine(self, found: Quarantined, boot_id: str) -> None:
        record = self.store.end_quarantine(found)
        if record is None:
            self.steps.remove_files(found.known.ref, found.uid)
            return
        with attributed("release", record.ref, found.uid):
            self._undo(record, boot_id)

    def _undo(self, record: Record, boot_id: str) -> None:
        try:
            self.steps.end(record, boot_id)
        except LOST as error:
            _log.warning(PARKED, record.ref, record.uid, error)
