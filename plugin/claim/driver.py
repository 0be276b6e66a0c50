"""Prepare and unprepare one claim: ask the table, record the intention, do the work, answer.

Allocated claims enter, CDI devices leave. Whatever is done to the machine was recorded before, so that a
crash between any two steps leaves a record from which the next call reaches the right end. Locks are per
claim and per GPU, in that order, and nothing global is held while hardware works.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Machine
from agent.hardware.types import GpuUuid
from plugin.base.errors import DeviceHeld, PluginError, UnknownDevice
from plugin.base.locks import Locks
from plugin.cdi.folder import CdiFolder
from plugin.claim import plan as claims
from plugin.claim.holder_wait import Patience, Wait
from plugin.claim.overlap import refuse_overlap
from plugin.claim.plan import PreparedDevice, PreparePlan
from plugin.claim.preparation import Begun, attributed
from plugin.claim.reconcile import Forget, Repair, ReportForeign, SetAside, Sweep, Undo, repairs
from plugin.claim.record import Record, checked_uid
from plugin.claim.record_store import RecordStore
from plugin.claim.states import Event, State, next_state
from plugin.machine.health import HealthReader
from plugin.machine.mig import gpu_text, named
from plugin.machine.node import Node
from plugin.machine.setup import Work
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid

_log = logging.getLogger(__name__)


class Driver:
    """The driver of one node. Any number of threads, and a second process, may call it at once."""

    def __init__(
        self,
        *,
        name: str,
        machine: Machine,
        node: Node,
        store: RecordStore,
        cdi: CdiFolder,
        locks: Locks,
        patience: Patience,
        host_root: Path = Path("/"),
    ) -> None:
        self.name = name
        self.patience = patience
        self.health = HealthReader(machine.readers, node)
        self._boot = machine.boot
        self._node = node
        self._store = store
        self._cdi = cdi
        self._locks = locks
        self._work = Work(machine=machine, node=node, store=store, cdi=cdi, host_root=host_root)

    def starting(self) -> AbstractContextManager[None]:
        """Keep other plugins of this node from starting meanwhile. Raises: LockTimeout, StorageFailed."""
        return self._locks.hold("start", "the plugin's folders", f"start process {os.getpid()}")

    def prepare(self, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        """Make a claim's devices usable by containers and return them.

        A repeated call gives the same answer, after a check that it still holds: a CDI document that is
        missing is written again, an instance that somebody destroyed is made again.
        Shape: the devices of this driver and node, in the order of the results.
        Raises: PluginError; nothing new is left behind then.
        """
        with self.begun(checked_uid(claim.uid or "", claim.ref), claim.ref) as begun:
            return begun.prepare(claim)

    @contextmanager
    def begun(self, uid: ClaimUid, ref: ClaimRef, wait: Wait | None = None) -> Iterator[Begun]:
        """Begin to prepare a claim of which no more than the name is known, for the length of a block.

        Its lock is held, and on the disk stands that it is wanted. If nothing comes of it, nothing is left.
        Shape: ``wait`` how long other claims may take to let its devices go; without it they are refused.
        Raises: PluginError, also for whatever the block raises.
        """
        with attributed("prepare", ref, uid), self._locked(uid, f"prepare claim {ref}"):
            begun = Begun(self._prepare_begun, self._store.load(uid), wait)
            try:
                if begun.is_only_wanted:
                    self._store.save(claims.wanted(uid, ref, self.name, self._boot.boot_id()))
                yield begun
            finally:
                if begun.is_only_wanted:
                    self._forget(uid, ref)

    def _forget(self, uid: ClaimUid, ref: ClaimRef) -> None:
        try:
            self._store.remove(uid)  # of a write that failed, too, its temporary file
        except PluginError as error:  # why nothing came of the claim is the better news
            _log.error("claim %s: %s; the next start removes it", ref, error)

    def _prepare_begun(self, begun: Begun, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        plan = self._resolved(claim)
        if not plan.devices:
            return ()
        has_waited = False
        while True:
            try:
                return self._prepare_now(begun, plan)
            except DeviceHeld as held:
                if begun.wait is None or not begun.wait.once_more():
                    raise
                if not has_waited:
                    _log.info("claim %s waits: %s", plan.ref, held.reason)
                has_waited = True

    def _prepare_now(self, begun: Begun, plan: PreparePlan) -> tuple[PreparedDevice, ...]:
        record = begun.record
        purpose = f"prepare claim {plan.ref}"
        with self._gpus_locked(plan.gpus | (record.gpus if record else frozenset()), purpose):
            kept = self._kept(record, plan) if record else None
            if kept is not None:
                return claims.answer(self._confirm(kept, plan))
            begun.record = None  # of another allocation, and undone
            write = self._store.note if begun.is_only_wanted else self._store.save
            self._refuse_begin(plan)
            begun.is_only_wanted = False
            return claims.answer(self._begin(plan, write))

    def unprepare(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Undo what was prepared for a claim; one that is not known is undone already.

        Raises: PluginError; the next call goes on from where this one stopped.
        """
        with attributed("unprepare", ref, uid), self._locked(uid, f"unprepare claim {ref}"):
            record = self._store.load(uid)
            if record is None:
                next_state(State.ABSENT, Event.UNPREPARE)
                self._cdi.remove(uid)
                return
            with self._gpus_locked(record.gpus, f"unprepare claim {ref}"):
                self._end(record)

    def reconcile(self) -> tuple[Repair, ...]:
        """Repair what a crash, a reboot or somebody else left, and return what was due.

        A repair that fails is logged and left to the next call for its claim: it never stops the start.
        """
        picture = self._node.read_again()
        found = repairs(self._store.census(), picture.instances(), self._cdi.claims(), self._boot.boot_id())
        for repair in found:
            try:
                self._repair(repair)
            except (PluginError, HardwareError) as error:
                _log.error("%s failed for now: %s", repair, error)
        return found

    def _resolved(self, claim: AllocatedClaim) -> PreparePlan:
        """Resolve a claim; a device that is not known may have come since the node was read."""
        with attributed("prepare", claim.ref, claim.uid):
            try:
                return claims.resolve(claim, self._node.picture.devices)
            except UnknownDevice:
                return claims.resolve(claim, self._node.read_again().devices)

    def _kept(self, record: Record, plan: PreparePlan) -> Record | None:
        """Return the record if it is of this allocation and complete; anything else is undone first."""
        if record.boot_id == self._boot.boot_id() and claims.matches(record, plan):
            state = next_state(record.state, Event.PREPARE)
            if state is State.COMPLETED:
                return record
            self._undo(record, Event.PREPARE)
        else:
            self._end(record)
        return None

    def _confirm(self, record: Record, plan: PreparePlan) -> Record:
        """Make sure that a claim which is prepared still is."""
        found = self._work.do(record, plan)
        if found != record:
            self._store.note(found)
        return found

    def _refuse_begin(self, plan: PreparePlan) -> None:
        self._refuse_overlap(plan)
        self._work.refuse_occupied(plan)
        next_state(State.ABSENT, Event.PREPARE)

    def _begin(self, plan: PreparePlan, write: Callable[[Record], None]) -> Record:
        record = claims.started(plan, self.name, self._boot.boot_id())
        try:
            write(record)
            return self._move(self._work.do(record, plan), Event.DONE)
        except (PluginError, HardwareError) as error:
            self._roll_back(plan, error)
            raise

    def _refuse_overlap(self, plan: PreparePlan) -> None:
        census = self._store.census()
        for error in census.too_new:
            raise error
        boot_id = self._boot.boot_id()
        alive = [record for record in census.records if record.boot_id == boot_id]
        refuse_overlap(plan, alive, self._node.picture.devices)

    def _roll_back(self, plan: PreparePlan, cause: Exception) -> None:
        try:
            record = self._store.load(plan.uid)
            if record is None:
                self._store.remove(plan.uid)  # a write that failed may have left its temporary file
            else:
                self._undo(record, Event.UNPREPARE)
        except (PluginError, HardwareError) as error:
            _log.error("claim %s: %s; what was begun is not undone yet: %s", plan.ref, cause, error)

    def _end(self, record: Record) -> None:
        """Undo a claim; of an earlier boot only files are left, and perhaps the MIG mode."""
        if record.boot_id == self._boot.boot_id():
            self._undo(record, Event.UNPREPARE)
            return
        self._cdi.remove(record.uid)
        self._work.rest(record.gpus)
        self._store.remove(record.uid)
        _log.info("claim %s (%s): absent, it was of an earlier boot", record.ref, record.uid)

    def _undo(self, record: Record, event: Event) -> None:
        undoing = self._move(record, event)
        self._work.undo(undoing)
        next_state(undoing.state, Event.UNDONE)
        self._store.remove(record.uid)
        _log.info("claim %s (%s): absent", record.ref, record.uid)

    def _move(self, record: Record, event: Event) -> Record:
        state = next_state(record.state, event)
        if state is record.state:
            return record
        moved = record.in_state(state)
        self._store.note(moved)
        if state is State.COMPLETED:  # one line for each call: the record tells what is between
            _log.info("claim %s (%s): %s", moved.ref, moved.uid, state)
        return moved

    def _repair(self, repair: Repair) -> None:
        match repair:
            case ReportForeign(instance=instance):
                _log.warning("GPU %s: no claim made %s; it is left alone", instance.parent, named([instance]))
            case SetAside(uid=uid):
                with self._locked(uid, f"set aside the record of claim {uid}"):
                    self._store.load(uid)
            case Undo(uid=uid) | Forget(uid=uid) | Sweep(uid=uid):
                with self._locked(uid, f"repair claim {uid}"):
                    self._settle(uid)

    def _settle(self, uid: ClaimUid) -> None:
        """Bring a claim to rest. Another process may have finished it since it was looked at."""
        record = self._store.load(uid)
        if record is None:
            self._cdi.remove(uid)
            self._store.remove(uid)
        elif record.state is not State.COMPLETED or record.boot_id != self._boot.boot_id():
            with self._gpus_locked(record.gpus, f"repair claim {record.ref}"):
                self._end(record)

    def _locked(self, uid: ClaimUid, purpose: str) -> AbstractContextManager[None]:
        return self._locks.hold(f"claim-{uid}", f"claim {uid}", purpose)

    @contextmanager
    def _gpus_locked(self, gpus: Iterable[GpuUuid], purpose: str) -> Iterator[None]:
        """Lock GPUs in one order for everybody, so that two claims never wait for each other."""
        with ExitStack() as held:
            for uuid in sorted(gpus):
                gpu = self._node.picture.gpu(uuid)
                subject = gpu_text(gpu) if gpu else f"GPU {uuid}"
                held.enter_context(self._locks.hold(f"gpu-{uuid}", subject, purpose))
            yield
