"""One claim's prepare: what its steps share, from the kubelet's question to the answer."""

from __future__ import annotations

from dataclasses import dataclass

from plugin.base.budget import Budget
from plugin.claim.record import Record
from plugin.machine.driver_parts import DriverParts
from plugin.machine.node import NodeSnapshot
from scheduler_core.model.claim import ClaimRef, ClaimUid


@dataclass(slots=True, kw_only=True)
class Preparation:
    """A claim that is being prepared. Its lock is held as long as this is in use.

    Shape: ``boot_id`` of the machine now; ``earlier`` the record that earlier calls left, None once it was
           undone; ``has_placeholder`` whether the claim's file holds no more than this call's placeholder;
           ``budget`` what its call may wait, None where it waits for no other claim; ``ahead`` what was read
           of the GPU driver before it is known whether the claim needs it, None where that failed.
    """

    uid: ClaimUid
    ref: ClaimRef
    boot_id: str
    earlier: Record | None
    budget: Budget | None
    has_placeholder: bool = False
    ahead: DriverParts | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a preparation is to reach. Shape: ``record`` started, and resolved on ``node``; ``ahead``
    as in ``Preparation``.
    """

    record: Record
    node: NodeSnapshot
    ahead: DriverParts | None = None
