"""Changes of a cluster state on trial: claims hold devices or end, nodes come. All is undone afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType

from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef, ExclusiveScope
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_views import Kept


def copy_ref(ref: ClaimRef, number: int) -> ClaimRef:
    """Return the name of a copy of a claim. No claim of a cluster has it: names there have no spaces."""
    return ClaimRef(ref.namespace, f"{ref.name} (copy {number})")


class Holdings:
    """Turns answers into what claims hold. Shares of devices get ids of their own: the claim's name."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def of(self, claim: Claim, allocation: Allocation, name: ClaimRef | None = None) -> AllocatedClaim:
        """Return what a claim of an answer holds, under another name where one is given."""
        ref = name or claim.ref
        return AllocatedClaim(
            ref=ref,
            uid=claim.uid if name is None else None,
            results=tuple([self._with_share(one, ref) for one in allocation.results[claim.ref]]),
            exclusive=tuple(one for one in claim.constraints if isinstance(one, ExclusiveScope)),
        )

    def _with_share(self, result: AllocatedDevice, ref: ClaimRef) -> AllocatedDevice:
        pool = self._state.views.get((result.device.driver, result.device.pool))
        if pool is None or result.admin_access or not _is_shareable(pool, result.device):
            return result
        return replace(result, share_id=str(ref))


class TrialChanges:
    """Changes a state until its block ends; then it is as it was before.

    Shape: ``held`` what claims hold on trial.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._holdings = Holdings(state)
        self.held: list[AllocatedClaim] = []
        self._ended: list[AllocatedClaim] = []
        self._added: list[tuple[Node, tuple[Pool, ...]]] = []

    def __enter__(self) -> TrialChanges:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo all changes."""
        for claim in reversed(self.held):
            self._state.release(holder_of(claim))
        for claim in reversed(self._ended):
            self._state.hold(claim)
        for node, pools in reversed(self._added):
            for pool in pools:
                self._state.remove_pool(pool.id)
            self._state.remove_node(node.name)

    def hold(self, claim: Claim, allocation: Allocation) -> None:
        """Let a claim hold its devices of an answer. It must hold none."""
        held = self._holdings.of(claim, allocation)
        self._state.hold(held)
        self.held.append(held)

    def end(self, claim: AllocatedClaim) -> None:
        """Let a claim give its devices back. It must hold some, and not by a trial."""
        self._state.release(holder_of(claim))
        self._ended.append(claim)

    def add(self, node: Node, pools: Iterable[Pool]) -> None:
        """Let a node come with its pools. Neither may be known."""
        self._state.set_node(node)
        self._added.append((node, tuple(pools)))
        for pool in self._added[-1][1]:
            self._state.set_pool(pool)


def _is_shareable(pool: Kept, device: DeviceId) -> bool:
    if isinstance(pool, Pool):
        return any(one.name == device.device and one.is_shareable for one in pool.devices)
    if not any(one.template.structure_class.is_shared for one in pool.components):
        return False
    found = pool.find(device.device)
    if found is None:
        return False
    component, position = found
    return bool(component.template.structure_class.shareable >> position & 1)
