"""Prepares and unprepares claims, one per call, and makes the objects that look after prepared claims.

Takes allocated claims; returns CDI devices. Locks are per claim and per lock target (a GPU), taken in that
order; no lock for all claims is held while hardware works. All that a call waits for counts into its budget.
How a claim is prepared is in ``preparer``, what happens under the locks in ``steps``; repairs are in
``reconciling``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial

from agent.hardware.errors import HardwareError
from agent.policy.effect_file import EffectFile
from agent.policy.watched import WatchedPolicy
from plugin.base.budget import Budget, Budgets
from plugin.base.claim_uid import checked_uid
from plugin.base.errors import NotReady, PluginError
from plugin.base.locks import KnownLock, Locks
from plugin.base.metrics import Metrics
from plugin.claim.attribution import attributed
from plugin.claim.claim_locks import ClaimLocks
from plugin.claim.figures.figures import Figures
from plugin.claim.figures.step_times import StepTimes
from plugin.claim.members import NO_POOLS, Pools
from plugin.claim.modes.care import ModeCare
from plugin.claim.modes.daemon_care import DaemonCare
from plugin.claim.modes.policy_care import PolicyCare
from plugin.claim.parked import ParkedClaims
from plugin.claim.plan import PreparedDevice, placeholder, resolve
from plugin.claim.ports import ClaimFinder, LookObserver
from plugin.claim.preparation import Preparation
from plugin.claim.preparer import Preparer
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.reconciling.at_start import repair_at_start
from plugin.claim.reconciling.claim_health import ClaimHealth
from plugin.claim.reconciling.looks import Looks
from plugin.claim.reconciling.quick_looks import QuickLooks
from plugin.claim.reconciling.reconciling import Reconciling
from plugin.claim.reconciling.repairer import PARKED, Repairer
from plugin.claim.reconciling.repairs import Repair
from plugin.claim.reconciling.sight import Sight
from plugin.claim.reconciling.told import ToldKept
from plugin.claim.record import Record
from plugin.claim.states import Event, State, next_state
from plugin.claim.steps import LOST, ClaimSteps
from plugin.claim.vfs.keeper import VfKeeper
from plugin.claim.vfs.keeping import VfKeeping
from plugin.kinds.health import HealthReader
from plugin.machine.known_health import KnownHealth
from plugin.machine.lock_target import LockTarget
from plugin.machine.mps.daemons import MpsDaemons
from plugin.machine.namespaces import PodNamespace
from plugin.machine.node import NodeSnapshot
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid

_log = logging.getLogger(__name__)


class Driver:
    """The driver of one node. Any number of threads, and a second process, may call it at once."""

    def __init__(
        self,
        *,
        name: str,
        steps: ClaimSteps,
        locks: Locks,
        budgets: Budgets,
        effect_file: EffectFile,
        policy: WatchedPolicy | None = None,
        metrics: Metrics | None = None,
        known_health: KnownHealth | None = None,
    ) -> None:
        machine, store = steps.machine, steps.store
        daemons = MpsDaemons(machine.mps, machine.gpus)
        self.name = name
        self.node_name = steps.node.name
        self.budgets = budgets
        self.metrics = metrics or steps.metrics
        self.figures = Figures(steps, self.metrics)
        self.parked = ParkedClaims(store=store, node=steps.node, settle=self._settle_if_free)
        self.sight = Sight(steps, budgets.clock, self.figures.pods)
        why_gone, missing = partial(self._why_gone, daemons), self.sight.missing
        self.health = HealthReader(machine.readers, steps.node, why_gone, known_health, missing.news)
        self.claim_health = ClaimHealth(store, self.health)
        self.care = DaemonCare(daemons=daemons, store=store, locks=locks)
        self.mode_care = ModeCare(modes=lambda: steps.mig_modes, node=steps.node, store=store, locks=locks)
        self.vf_keeper = VfKeeper(
            machine=machine, store=store, made=steps.made_vfs, locks=locks, rules=lambda: steps.node.vfs
        )
        has_rules = policy is not None or steps.node.vfs is not None
        self.vf_keeping = VfKeeping(self.vf_keeper, is_needed=has_rules)
        self.reconciling = Reconciling()
        self._steps, self._locks = steps, locks
        self._claim_locks = ClaimLocks(locks, steps.node)
        self._times = StepTimes(self.metrics, budgets.clock, self._claim_locks)
        self._preparer = Preparer(steps, self._times, self.metrics, budgets.clock)
        self.policy = self._policy_care(policy, effect_file)
        self._repairer = Repairer(steps, self._claim_locks)
        self._kept = ToldKept(_log)
        self._boot, self._node, self._store = machine.boot, steps.node, store

    def starting(self) -> AbstractContextManager[None]:
        """Keep other plugins of this node from starting meanwhile. Raises: LockTimeout, StorageFailed."""
        return self._locks.hold("start", "the plugin's folders", f"start process {os.getpid()}")

    def prepare(self, claim: AllocatedClaim, pools: Pools = NO_POOLS) -> tuple[PreparedDevice, ...]:
        """Prepare a claim whose allocation is known already. Raises: as ``opened`` and ``finish``."""
        with self.opened(checked_uid(claim.uid or "", claim.ref), claim.ref) as preparation:
            return self.finish(preparation, claim, pools)

    @contextmanager
    def opened(self, uid: ClaimUid, ref: ClaimRef, budget: Budget | None = None) -> Iterator[Preparation]:
        """Begin to prepare a claim of which only the name is known, for the length of a block.

        Its lock is held, and a placeholder is durable on disk. Unless ``finish`` goes on from it, the
        placeholder is removed at the end.
        Shape: ``budget`` what the call may wait; without it devices that other claims have are refused.
        Raises: PluginError, also for whatever hardware error the block raises.
        """
        with (
            attributed("prepare", ref, uid),
            self._claim_locks.only_claim(uid, f"prepare claim {ref}", budget),
        ):
            preparation = Preparation(
                uid=uid, ref=ref, boot_id=self._boot.boot_id(), earlier=self._store.load(uid), budget=budget
            )
            try:
                if preparation.earlier is None:
                    preparation.has_placeholder = True
                    self._store.save(placeholder(uid, ref, self.name, preparation.boot_id))
                preparation.ahead = self._steps.read_ahead()
                yield preparation
            finally:
                if preparation.has_placeholder:
                    self._steps.remove_placeholder(uid, ref)

    def finish(
        self, preparation: Preparation, claim: AllocatedClaim, pools: Pools = NO_POOLS
    ) -> tuple[PreparedDevice, ...]:
        """Make the devices of an opened claim usable by containers and return them.

        A repeated call gives the same answer, after a check that it still holds: a CDI document that is
        missing is written again, an instance that somebody destroyed is created again.
        Shape: the devices of this driver and node, in the order of the results; ``pools`` has the members of
               devices of several nodes.
        Raises: PluginError, HardwareError; nothing new is left behind then.
        """
        with self._times.timed("prepare", "plan"):
            plan = self._preparer.plan(preparation, claim, pools)
        if not plan.record.devices:
            return ()
        with ExitStack() as waited:
            devices = self._preparer.prepare_after_holders(preparation, plan, waited)
        self.sight.forget(preparation.uid)  # a pod has it, and all of it is there
        return devices

    def unprepare(self, uid: ClaimUid, ref: ClaimRef, budget: Budget | None = None) -> None:
        """Undo what was prepared for a claim; a claim that is not known counts as undone.

        The pod is gone, so this is also the end of a quarantine. What is on a lost GPU cannot be undone, and
        its pod must end nevertheless: that counts as undone, too. The record goes on holding it until it can
        be undone, or the node reboots.
        Raises: PluginError; the next call goes on from where this one stopped.
        """
        with (
            attributed("unprepare", ref, uid),
            self._claim_locks.only_claim(uid, f"unprepare claim {ref}", budget),
        ):
            self.sight.forget(uid)
            record = self._store.load_to_end(uid, lambda found: self._steps.completed(found, ref))
            if record is None:
                next_state(State.ABSENT, Event.UNPREPARE)
                self._steps.remove_files(ref, uid)
                return
            with self._times.locked("unprepare", record.lock_targets, f"unprepare claim {uid}", budget):
                try:
                    with self._times.timed("unprepare", "undo"):
                        self._steps.within(budget).end(record, self._boot.boot_id())
                except LOST as error:
                    _log.warning(PARKED, ref, uid, error)
        self.vf_keeping.look_again()

    @property
    def seen(self) -> NodeSnapshot | None:
        """Return how the node was when it was read last, None before. Waits for nothing."""
        return self._node.last

    def known_locks(self) -> tuple[KnownLock, ...]:
        """Return the locks that this process holds or waits for. Waits for nothing."""
        return self._locks.known()

    def quarantined(self) -> tuple[Quarantined, ...]:
        """Return the claims whose records cannot be believed. Raises: StorageFailed."""
        return self._store.census().quarantined

    def release(self, uid: ClaimUid) -> Quarantined:
        """End the quarantine of a claim, as the end of its pod would; return what it was.

        What is on a lost GPU stays held until that is back. No container may use the devices any more.
        Raises: NotQuarantined; PluginError, and the next call goes on from where this one stopped.
        """
        with self._claim_locks.claim(uid, f"release claim {uid}"):
            found = self._store.releasable(uid)
            self._repairer.end_quarantine(found, self._boot.boot_id())
        self.vf_keeping.look_again()
        return found

    def bring_in(
        self, uid: ClaimUid, device: str, pod: PodNamespace, budget: Budget | None = None
    ) -> ClaimRef:
        """Bring a device of a prepared claim into a pod's namespace; where it is there already, it stays.

        Returns the claim's name. Raises: PluginError; the pod has nothing of the device then.
        """
        with self._claim_locks.claim(uid, f"bring device {device} of claim {uid} into a pod", budget):
            record = self._store.load(uid)
            found = record and next((one for one in record.devices if one.device == device), None)
            is_prepared = record is not None and record.state is State.COMPLETED
            if record is None or not found or not is_prepared or record.boot_id != self._boot.boot_id():
                subject = f"device {device} of claim {record.ref if record else uid}"
                raise NotReady("bring into a pod", subject, "the claim is not prepared", "it is retried")
            purpose = f"bring device {device} of claim {uid} into a pod"
            with (
                attributed("bring into a pod a device of", record.ref, uid),
                self._claim_locks.targets(
                    found.lock_targets, purpose, budget
                ),  # no GPU of the claim: may be slow
            ):
                self._steps.within(budget).bring_in(record, found, pod)
            return record.ref

    def reconcile(self) -> tuple[Repair, ...]:
        """Repair at the start what a crash, a reboot or somebody else left, and return what was due.

        A repair that fails is logged and left to the next look: it never stops the start.
        """
        found = repair_at_start(self._repairer, self._kept, self.sight.errors, self.metrics)
        self.care.look_after()
        self.policy.look_after()
        self.mode_care.look_after()
        self.vf_keeper.forget_gone()
        return found

    def looks(self, observer: LookObserver, finder: ClaimFinder | None = None) -> Looks:
        """Return what looks again while the plugin runs. Shape: ``finder`` None without an API server."""
        return Looks(
            repairer=self._repairer,
            sight=self.sight,
            kept=self._kept,
            metrics=self.metrics,
            figures=self.figures,
            budgets=self.budgets,
            ended=self.vf_keeping.look_again,
            observer=observer,
            finder=finder,
        )

    def quick_looks(self, looks: Looks) -> QuickLooks:
        """Return what notices within a second that an instance went, and has ``looks`` look at its claim."""
        steps = self._steps
        return QuickLooks(
            steps.store, steps.node, steps.machine.files, looks.look_at, self.reconciling.hasten
        )

    def lock_targets(self, uid: ClaimUid, claim: AllocatedClaim | None = None) -> frozenset[LockTarget]:
        """Return the hardware that a call for a claim will lock, as far as it is known before.

        Shape: ``claim`` for a prepare, where it is known. What will be refused, or be unknown, is left out.
        """
        records: list[Record | None] = []
        with suppress(PluginError):
            records.append(self._store.peek(uid)[0])
        with suppress(PluginError, HardwareError):
            if claim is not None:
                records.append(resolve(claim, self._node.snapshot.devices, self._boot.boot_id()))
        return frozenset(target for one in records if one is not None for target in one.lock_targets)

    def _policy_care(self, policy: WatchedPolicy | None, file: EffectFile) -> PolicyCare:
        return PolicyCare(
            watched=policy,
            file=file,
            node=self._steps.node,
            store=self._steps.store,
            boot_id=self._steps.machine.boot.boot_id,
            locks=self._claim_locks,
            budgets=self.budgets,
            changed=self._policy_changed,
        )

    def _policy_changed(self) -> None:
        """Make the hardware what the policy says, as far as nothing is in use."""
        self.mode_care.look_after()
        self.vf_keeping.look_again()

    def _settle_if_free(self, uid: ClaimUid) -> None:
        """Undo a claim, unless somebody works on it or its hardware. Raises: LockTimeout."""
        self._repairer.settle(uid, self._boot.boot_id(), self.budgets.begin(remaining_s=0.0))

    def _why_gone(self, daemons: MpsDaemons) -> Mapping[str, str]:
        """Return why devices cannot be used although their hardware answers, by name."""
        return {**daemons.gone(), **self.sight.missing.by_device()}
