"""The locks of claims and of their hardware, in one order for everybody: a claim, then its lock targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from daemon.log_fields import log_about
from plugin.base.budget import Budget
from plugin.base.locks import Locks
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import Node
from scheduler_core.model.claim import ClaimUid


@dataclass(frozen=True, slots=True)
class ClaimLocks:
    """The locks of a node's claims. Shape: ``node`` says how messages name what is locked."""

    locks: Locks
    node: Node

    @contextmanager
    def claim(self, uid: ClaimUid, purpose: str, budget: Budget | None = None) -> Iterator[None]:
        """Hold the lock of a claim; log lines within the block have its UID. Raises: as ``Locks.hold``."""
        with self.locks.hold(f"claim-{uid}", f"claim {uid}", purpose, budget), log_about(uid=uid):
            yield

    @contextmanager
    def targets(
        self, targets: Iterable[LockTarget], purpose: str, budget: Budget | None = None
    ) -> Iterator[None]:
        """Lock hardware in one order for everybody, so that two claims never wait for each other.

        Raises: as ``Locks.hold``.
        """
        snapshot = self.node.snapshot
        with ExitStack() as held:
            for target in sorted(targets):
                text = snapshot.text_of(target)
                held.enter_context(self.locks.hold(target.name, text, purpose, budget))
            yield
