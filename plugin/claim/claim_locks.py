"""The locks of claims and of their hardware, in one order for everybody: a claim, then its lock targets."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from daemon.log_fields import LogAbout, log_about
from plugin.base.budget import Budget
from plugin.base.locks import HeldLock, Locks
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import Node
from scheduler_core.model.claim import ClaimUid

_NOT_MEASURED: Final = nullcontext()


@dataclass(frozen=True, slots=True)
class ClaimLocks:
    """The locks of a node's claims. Shape: ``node`` says how messages name what is locked."""

    locks: Locks
    node: Node

    def claim(self, uid: ClaimUid, purpose: str, budget: Budget | None = None) -> HeldClaim:
        """Hold the lock of a claim for a ``with`` block; log lines within it have its UID.

        Raises: as ``Locks.hold``.
        """
        return HeldClaim(self.only_claim(uid, purpose, budget), log_about(uid=uid))

    def only_claim(self, uid: ClaimUid, purpose: str, budget: Budget | None = None) -> HeldLock:
        """Do as ``claim`` within a block that gives log lines more than the UID."""
        return self.locks.hold(f"claim-{uid}", f"claim {uid}", purpose, budget)

    def targets(
        self,
        targets: Iterable[LockTarget],
        purpose: str,
        budget: Budget | None = None,
        wait: AbstractContextManager[None] = _NOT_MEASURED,
    ) -> HeldTargets:
        """Lock hardware in one order for everybody, so that two claims never wait for each other.

        It is held for the length of a ``with`` block. Shape: ``wait`` a block around the wait for it, which
        measures that. Raises: as ``Locks.hold``.
        """
        return HeldTargets(self, targets, purpose, budget, wait)


class HeldClaim:
    """The block that holds the lock of a claim."""

    __slots__ = ("_about", "_held")

    def __init__(self, held: HeldLock, about: LogAbout) -> None:
        self._held, self._about = held, about

    def __enter__(self) -> None:
        self._held.__enter__()
        self._about.__enter__()

    def __exit__(self, *_error: object) -> None:
        self._about.__exit__()
        self._held.__exit__()


class HeldTargets:
    """The block that holds the locks of lock targets."""

    __slots__ = ("_budget", "_held", "_of_claims", "_purpose", "_targets", "_wait")

    def __init__(
        self,
        of_claims: ClaimLocks,
        targets: Iterable[LockTarget],
        purpose: str,
        budget: Budget | None,
        wait: AbstractContextManager[None] = _NOT_MEASURED,
    ) -> None:
        self._of_claims, self._targets, self._purpose, self._budget = of_claims, targets, purpose, budget
        self._wait = wait
        self._held: list[tuple[str, int]] = []

    def __enter__(self) -> None:
        with self._wait:
            self._lock()

    def _lock(self) -> None:
        locks, snapshot = self._of_claims.locks, self._of_claims.node.snapshot
        try:
            for target in sorted(self._targets):
                text = snapshot.text_of(target)
                descriptor = locks.acquire(target.name, text, self._purpose, self._budget)
                self._held.append((target.name, descriptor))
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_error: object) -> None:
        while self._held:
            self._of_claims.locks.release(*self._held.pop())
