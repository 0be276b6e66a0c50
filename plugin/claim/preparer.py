"""Makes a claim's plan and reaches it: resolved on the node, after other claims' holders, under the locks.

The caller holds the lock of the claim. What happens under the locks is in ``plugin.claim.steps``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from plugin.base.errors import DeviceHeld, DeviceUnusable, NoSuchDevice, NotReady, UnknownDevice
from plugin.base.metrics import Metrics
from plugin.claim.figures.step_times import StepTimes
from plugin.claim.members import Pools
from plugin.claim.plan import PreparedDevice, answer, resolve
from plugin.claim.preparation import Plan, Preparation
from plugin.claim.record import Record
from plugin.claim.steps import ClaimSteps
from scheduler_core.model.claim import AllocatedClaim

_HOLDER_LOOK_S: Final = 0.05
_log = logging.getLogger(__name__)


class Preparer:
    """Prepares opened claims. Any number of threads may do so at once. Units: ``clock`` seconds."""

    def __init__(
        self, steps: ClaimSteps, times: StepTimes, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self._steps = steps
        self._node = steps.node
        self._times = times
        self._metrics = metrics
        self._clock = clock

    def plan(self, preparation: Preparation, claim: AllocatedClaim, pools: Pools) -> Plan:
        """Resolve a claim. The node may have changed since it was read: it is read again before a refusal.

        Raises: PluginError, HardwareError.
        """
        snapshot = self._node.snapshot
        try:
            return Plan(
                resolve(claim, snapshot.devices, preparation.boot_id, pools), snapshot, preparation.ahead
            )
        except (UnknownDevice, DeviceUnusable):
            snapshot = self._node.read_again()
        try:
            return Plan(
                resolve(claim, snapshot.devices, preparation.boot_id, pools), snapshot, preparation.ahead
            )
        except NoSuchDevice as error:
            if not snapshot.unread:
                raise
            reason = f"{error.reason} among those that can be read: {'; '.join(snapshot.unread)}"
            raise NotReady(error.attempted, error.subject, reason) from error

    def prepare_after_holders(
        self, preparation: Preparation, plan: Plan, waited: ExitStack
    ) -> tuple[PreparedDevice, ...]:
        """Prepare a claim, once other claims have released its devices.

        Shape: ``waited`` ends when the wait does.
        Raises: DeviceHeld after the wait; PluginError, HardwareError.
        """
        has_waited, wait = False, None
        while True:
            try:
                return self._prepared(preparation, plan)
            except DeviceHeld as held:
                # The kubelet would repeat a refused call only seconds later. No lock is held but the claim's.
                wait = wait or (preparation.budget and preparation.budget.for_holders())
                if wait is None or not wait.rest(_HOLDER_LOOK_S):
                    raise
                if not has_waited:
                    _log.info("claim %s waits for another claim: %s", preparation.ref, held.reason)
                    waited.enter_context(self._metrics.timed("holder_wait_seconds", self._clock))
                # What was read before the wait may have changed.
                has_waited, plan = True, replace(plan, ahead=None)

    def _prepared(self, preparation: Preparation, plan: Plan) -> tuple[PreparedDevice, ...]:
        earlier = preparation.earlier
        targets = plan.record.lock_targets | (earlier.lock_targets if earlier else frozenset())
        steps = self._steps.within(preparation.budget)
        purpose = f"prepare claim {preparation.uid}"
        with self._times.locked("prepare", targets, purpose, preparation.budget):
            if earlier is not None:
                if steps.keep_or_undo(earlier, plan):
                    with self._times.timed("prepare", "confirm"):
                        return self._answer(steps.confirm(earlier, plan))
                preparation.earlier = None
            self._refuse_outdated(preparation, plan)
            context = steps.context_of(plan)
            steps.refuse(plan, context)
            # The placeholder's file is durable already, so its next lines need no sync.
            write = steps.store.note if preparation.has_placeholder else steps.store.save
            preparation.has_placeholder = False
            with self._times.timed("prepare", "set_up"):
                return self._answer(steps.begin(plan, write, context))

    def _refuse_outdated(self, preparation: Preparation, plan: Plan) -> None:
        """Refuse a plan that was made before the policy changed: the device may be offered otherwise now."""
        if plan.node.effect is not self._node.effect and plan.node.effect != self._node.effect:
            reason = "the policy of the node changed meanwhile"
            raise NotReady("prepare", f"claim {preparation.ref}", reason, "it is retried")

    def _answer(self, record: Record) -> tuple[PreparedDevice, ...]:
        return answer(record, has_metadata=self._steps.metadata.is_wanted)
