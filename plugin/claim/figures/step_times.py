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
    ) -> LockedTargets:
        """Hold the locks of lock targets for a ``with`` block; the wait for them is a step.

        Raises: LockTimeout, HardwareHangs, StorageFailed.
        """
        return LockedTargets(self.locks.targets(targets, purpose, budget), self.timed(method, "lock"))


class LockedTargets:
    """The block that holds locks and measures the wait for them."""

    __slots__ = ("_held", "_wait")

    def __init__(self, held: HeldTargets, wait: AbstractContextManager[None]) -> None:
        self._held, self._wait = held, wait

    def __enter__(self) -> None:
        with self._wait:
            self._held.__enter__()

    def __exit__(self, *_error: object) -> None:
        self._held.__exit__()
