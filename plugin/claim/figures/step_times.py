"""How long the steps of a call take, the wait for its locks among them, as a metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from plugin.base.budget import Budget
from plugin.base.metrics import Metrics
from plugin.claim.claim_locks import ClaimLocks, HeldTargets
from plugin.machine.lock_target import LockTarget


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Measures steps. Units: ``clock`` seconds."""

    metrics: Metrics
    clock: Callable[[], float]
    locks: ClaimLocks

    def timed(self, method: str, step: str) -> AbstractContextManager[None]:
        """Measure a block as a step of a method."""
        return self.metrics.timed("step_seconds", self.clock, method=method, step=step)

    def locked(
        self, method: str, targets: Iterable[LockTarget], purpose: str, budget: Budget | None
    ) -> HeldTargets:
        """Hold the locks of hardware for a ``with`` block, and measure how long they were waited for.

        Raises: LockTimeout, HardwareHangs, StorageFailed.
        """
        return self.locks.targets(targets, purpose, budget, self.timed(method, "lock"))
