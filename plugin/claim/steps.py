"""The steps of a claim's life that change something: begin, confirm, undo, forget.

Takes plans and records; returns records in their next state. Every step is recorded before the machine
changes, so that a crash at any moment leaves a record from which the next call reaches the right end. The
caller holds the locks of the claim and of its lock targets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from agent.hardware.errors import GpuLost, HardwareError, ResetRequired
from agent.hardware.ports import Machine
from agent.hardware.types import ModeChange
from plugin.base.budget import Budget
from plugin.base.errors import NotReady, PluginError
from plugin.base.groups import groups_of
from plugin.base.metrics import Metrics
from plugin.cdi.document import Document, checksum, claim_document, encode
from plugin.cdi.folder import CdiFolder
from plugin.cdi.hook import HookProgram
from plugin.cdi.metadata_folder import MetadataFolder
from plugin.claim.attribution import devices_text, logged
from plugin.claim.held import held_hardware
from plugin.claim.metadata import request_files
from plugin.claim.overlap import refuse_overlap
from plugin.claim.plan import is_same_allocation
from plugin.claim.preparation import Plan
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.record import Record, under_mps, with_interval
from plugin.claim.record_store import RecordStore
from plugin.claim.states import Event, State, next_state
from plugin.kinds.claimed import Claimed
from plugin.kinds.injection import injections
from plugin.kinds.setup import DeviceSetup
from plugin.machine.context import Context
from plugin.machine.driver_parts import DriverParts, driver_parts
from plugin.machine.made_vfs import MadeVfStore
from plugin.machine.mig.made import MadeModes
from plugin.machine.mig.modes import MigModes
from plugin.machine.namespaces import PodNamespace
from plugin.machine.node import Node, NodeSnapshot
from plugin.machine.vf_supply import VfSupply
from plugin.machine.waiting import Waiting
from scheduler_core.model.claim import ClaimRef, ClaimUid

LOST: Final = (GpuLost, ResetRequired)
"""The errors of a GPU on which nothing can be done until it is reset, which leaves nothing on it."""
_log = logging.getLogger(__name__)


class ClaimSteps(msgspec.Struct, frozen=True, kw_only=True):
    """Changes the records, devices and CDI documents of one node.

    Shape: ``host_root`` where the host's files are seen from here; ``cache_program`` NVIDIA's program that
           updates loaders' caches, as the host names it, None for none.
    """

    machine: Machine
    node: Node
    store: RecordStore
    cdi: CdiFolder
    metadata: MetadataFolder
    hook: HookProgram
    cache_program: Path | None
    setup: DeviceSetup
    host_root: Path
    waiting: Waiting
    made_vfs: MadeVfStore
    made_modes: MadeModes
    metrics: Metrics = msgspec.field(default_factory=Metrics)

    @property
    def mig_modes(self) -> MigModes:
        """Return what changes MIG modes, within the same wait."""
        return MigModes(
            gpus=self.machine.gpus,
            clients=self.machine.clients,
            waiting=self.waiting,
            made=self.made_modes,
            policy=self.node.modes,
            heard=self._mode_changed,
        )

    def _mode_changed(self, wish: str, change: ModeChange) -> None:
        self.metrics.count("mig_mode_changes_total", wish=wish, result=change.name.lower())

    def within(self, budget: Budget | None) -> ClaimSteps:
        """Return the steps of a call: what they wait for the machine counts into its budget."""
        return self if budget is None else msgspec.structs.replace(self, waiting=self.waiting.within(budget))

    def keep_or_undo(self, earlier: Record, plan: Plan) -> bool:
        """Say whether an earlier record is complete and of the plan's allocation; any other is undone.

        Raises: HardwareError, StorageFailed.
        """
        boot_id = plan.record.boot_id
        if earlier.boot_id != boot_id or not is_same_allocation(earlier, plan.record):
            self.end(earlier, boot_id)
            return False
        if next_state(earlier.state, Event.PREPARE) is State.COMPLETED:
            return True
        self.undo(earlier, Event.PREPARE)
        return False

    def context_of(self, plan: Plan) -> Context:
        """Return the context in which a plan is carried out. The caller holds the locks of its hardware."""
        return self.context(plan.node, plan.record, plan.ahead)

    def refuse(self, plan: Plan, context: Context) -> None:
        """Check that a plan can be begun; change nothing. Shape: ``context`` of the plan.

        Raises: DeviceHeld, PlacementTaken, ClaimUnusable; HardwareError.
        """
        census = self.store.census(but=plan.record.uid)
        alive = [record for record in census.records if record.boot_id == plan.record.boot_id]
        refuse_overlap(plan.record, alive, plan.node.devices, census.quarantined)
        self.setup.refuse_occupied(context, plan.record.devices)
        next_state(State.ABSENT, Event.PREPARE)

    def begin(self, plan: Plan, write: Callable[[Record], None], context: Context) -> Record:
        """Record a plan with ``write``, carry it out and return the completed record.

        Shape: ``context`` of the plan, in which it was found that nothing speaks against it.

        Raises: PluginError, HardwareError; what was begun is undone then.
        """
        try:
            write(plan.record)
            found, injected = self._real(plan.record, context)
            content = encode(injected)
            completed = self._move(found.with_document(checksum(content)), Event.DONE)
            # After that line: a record without it whose claim has a document was cut.
            self.cdi.ensure(completed.uid, content)
            self._hand_out(completed, context)
            return completed
        except (PluginError, HardwareError) as error:
            self._roll_back(plan.record, error)
            raise

    def confirm(self, record: Record, plan: Plan) -> Record:
        """Make sure that a completed claim is still set up; what is missing is made again.

        Its document stays as it is where it may, so that a container that starts again gets the same.
        Raises: PluginError, HardwareError.
        """
        context = self.context(plan.node, record, plan.ahead)
        found, injected = self._real(record.told_as(plan.record), context)
        if found != record:
            self.store.note(found)
        standing = self.cdi.keep(found.uid, injected, self.is_on_host, record.written_for(found))
        if standing != found.cdi_sha256:
            found = found.with_document(standing)
            self.store.note(found)
        self._hand_out(found, context)
        return found

    def bring_in(self, record: Record, device: Claimed, pod: PodNamespace) -> None:
        """Bring a device of a prepared claim into a pod. Raises: PluginError, HardwareError."""

        def note(devices: Sequence[Claimed]) -> None:
            self.store.note(record.with_devices(devices))

        context = self.context(self.node.snapshot, record)
        self.setup.bring_in(context, record.devices, device, pod, note)

    def undo(self, record: Record, event: Event) -> None:
        """Undo a claim of this boot and remove its record.

        The CDI document goes first, so that no container starts with devices that are about to vanish.
        Raises: HardwareError, StorageFailed. A second call goes on from there. With an error of ``LOST`` the
                record holds no more than what is on lost GPUs.
        """
        undoing = self._move(record, event)
        self.remove_files(record.ref, record.uid)
        self._take_down(undoing)
        next_state(undoing.state, Event.UNDONE)
        self.store.remove(record.uid)
        _log.info("claim %s (%s): unprepared", record.ref, record.uid, extra=logged(record))

    def end(self, record: Record, boot_id: str) -> None:
        """Undo a claim. Of an earlier boot only files are left, and what its kinds know to outlive a boot.

        Raises: HardwareError, StorageFailed.
        """
        if record.boot_id == boot_id:
            self.undo(record, Event.UNPREPARE)
            return
        self.remove_files(record.ref, record.uid)
        self.setup.forget(self.context(self.node.snapshot, record), record.devices)
        self.store.remove(record.uid)
        text = "claim %s (%s): unprepared, it was of an earlier boot"
        _log.info(text, record.ref, record.uid, extra=logged(record))

    def write_metadata(self, record: Record) -> None:
        """Write the metadata files of a claim that is set up, where they are wanted.

        Raises: StorageFailed, ClaimUnusable.
        """
        if self.metadata.is_wanted:
            self.metadata.ensure(record.ref, record.uid, request_files(record))

    def remove_files(self, ref: ClaimRef | None, uid: ClaimUid) -> None:
        """Remove what container runtimes read of a claim. Shape: ``ref`` None where it is not known.

        Raises: StorageFailed.
        """
        self.cdi.remove(uid)
        self.metadata.remove(ref, uid)

    def completed(self, found: Quarantined, ref: ClaimRef) -> Quarantined:
        """Return a claim in quarantine with what its CDI document says of its MIG devices.

        Shape: ``ref`` how people name the claim, if no line of its record says it.
        Raises: RecordUnusable; HardwareError.
        """
        devices = self.node.snapshot.devices
        name = found.known.ref or ref
        claim = Record(
            claim_uid=found.uid,
            namespace=name.namespace,
            name=name.name,
            driver=devices.pool.id.driver,
            boot_id=self.machine.boot.boot_id(),
            state=State.STARTED,
            devices=(),
        )
        return found.with_instances(self.machine.gpus, devices, claim)

    def remove_placeholder(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Remove a claim's placeholder, or the temporary file of a write that failed; an error is logged."""
        try:
            self.store.remove(uid)
        except PluginError as error:  # the caller raises why the claim was not prepared: that matters more
            _log.error("claim %s: %s; the next start of the plugin removes it", ref, error)

    def _real(self, record: Record, context: Context) -> tuple[Record, Document]:
        """Set every device up and return its CDI document, too; what is so already stays.

        Postcondition: every device node is there or can be made.
        """

        def note(devices: Sequence[Claimed]) -> None:
            self.store.note(record.with_devices(devices))

        made = record.with_devices(self.setup.set_up(context, record.devices, note))
        return made, self.document(made, context)

    def document(self, record: Record, context: Context) -> Document:
        """Return the CDI document of a claim that is set up. Raises: NotReady, HardwareError."""
        found = injections(context, record.uid, record.devices, self.hook)
        return claim_document(record.driver, found, self._cache_program())

    def _hand_out(self, record: Record, context: Context) -> None:
        """Write what else container runtimes read of a claim that has its document.

        Postcondition: every device works. Raises: StorageFailed, NotReady, ClaimUnusable; HardwareError.
        """
        self.write_metadata(record)
        self.setup.refuse_dead(context, record.devices)

    def is_on_host(self, path: str) -> bool:
        """Whether the host has a path."""
        return (self.host_root / path.removeprefix("/")).exists()

    def _cache_program(self) -> Path | None:
        """Return NVIDIA's program. Raises: NotReady where it is wanted and gone: no container would start."""
        program = self.cache_program
        if program is not None and not self.is_on_host(str(program)):
            remedy = "the operator installs the container toolkit there, or removes --nvidia-cdi-hook"
            raise NotReady("give containers", str(program), "it does not exist", remedy)
        return program

    def _take_down(self, record: Record) -> None:
        """Undo all devices; those on a lost GPU keep no others, which somebody may want meanwhile."""
        context = self.context(self.node.snapshot, record)
        try:
            self.setup.take_down(context, record.devices)
        except LOST:
            self._take_down_in_parts(context, record)

    def _take_down_in_parts(self, context: Context, record: Record) -> None:
        """Undo devices that share hardware together, and each of these groups for itself."""
        left: set[str] = set()
        why: HardwareError | None = None
        for group in reversed(groups_of([device.lock_targets for device in record.devices])):
            devices = [record.devices[place] for place in group]
            try:
                self.setup.take_down(context, devices)
            except LOST as error:
                left |= {device.cdi_id for device in devices}
                why = error
        if why is not None:
            if len(left) < len(record.devices):
                held = [device for device in record.devices if device.cdi_id in left]
                self.store.note(record.with_devices(held))
            raise why

    def _roll_back(self, plan: Record, cause: Exception) -> None:
        try:
            record = self.store.load(plan.uid)
            if record is None:
                self.store.remove(plan.uid)  # a write that failed may have left its temporary file
            else:
                self.undo(record, Event.UNPREPARE)
        except (PluginError, HardwareError) as error:
            _log.error("claim %s: %s; the incomplete prepare is not undone yet: %s", plan.ref, cause, error)

    def read_ahead(self) -> DriverParts | None:
        """Read what containers need of the GPU driver; None on a node without GPUs, and where that fails.

        Whoever needs it reads it again then, and says what is wrong. No call of the driver is made.
        """
        version = self.node.last.driver_version if self.node.last is not None else None
        if version is None:
            return None
        try:
            return driver_parts(self.machine.files, version, self.host_root)
        except (PluginError, HardwareError):
            return None

    def context(self, node: NodeSnapshot, record: Record, ahead: DriverParts | None = None) -> Context:
        """Return the context of a claim's devices. Shape: ``ahead`` as in ``Preparation``."""

        def others() -> list[Record]:
            return [one for one in self.store.census().holding if one.uid != record.uid]

        def devices() -> Sequence[Claimed]:
            alive = (one for one in others() if one.boot_id == record.boot_id)
            return [device for one in alive for device in one.devices]

        held = partial(held_hardware, self.store, record.boot_id, record.uid)
        return Context(
            self.machine,
            node,
            self.host_root,
            self.waiting,
            devices,
            VfSupply(self.machine.nics, self.made_vfs, record.boot_id, held),
            self.mig_modes,
            lambda: under_mps(others()) | self.store.census().told_uuids,
            lambda: with_interval(others()),
            ahead,
        )

    def _move(self, record: Record, event: Event) -> Record:
        state = next_state(record.state, event)
        if state is record.state:
            return record
        moved = record.in_state(state)
        self.store.note(moved)
        if state is State.COMPLETED:  # one line for each call; the record has the states between
            text = "claim %s (%s): prepared, with %s"
            _log.info(text, moved.ref, moved.uid, devices_text(moved), extra=logged(moved))
        return moved
