"""A pod's amounts and its other claims on one node: each is held on trial while the other one is asked for.

First the amounts choose, then the claims. A pair that fits only where neither has its own best choice is not
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.pods.place import entered
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef, ClaimUid
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState

_TRIAL = ClaimRef("", "trial")  # no object has an empty namespace here


@dataclass(frozen=True, slots=True)
class Beside:
    """Where amounts and claims are asked for. Shape: engine and placer have one state."""

    engine: Engine
    placer: PodPlacer
    node: Node
    table: NodeTable | None


def devices_beside(
    ask: PodAsk, placed: PlacedPod, claims: Sequence[Claim], where: Beside
) -> tuple[PlacedPod, Allocation] | Undecided | None:
    """Return devices for both, None where none were found. Shape: ``placed`` fits without the claims.

    Raises: as ``Engine.allocate``.
    """
    state = where.placer.state
    with _held(state, [replace(entered(ask, placed, _TRIAL), uid=ClaimUid("trial"))]):
        after = where.engine.decide(claims, where.node)
    if isinstance(after, Allocation):
        return placed, after
    first = where.engine.decide(claims, where.node)
    if not isinstance(first, Allocation):
        return first if isinstance(first, Undecided) else _undecided(after)
    with _held(state, list(_trials(first))):
        found = where.placer.decide(ask, where.node, where.table)
    if isinstance(found, PlacedPod):
        return found, first
    return found if isinstance(found, Undecided) else _undecided(after)


def _undecided(answer: Allocation | Undecided | None) -> Undecided | None:
    return answer if isinstance(answer, Undecided) else None


def _trials(answer: Allocation) -> Iterator[AllocatedClaim]:
    """Yield what the claims of an answer would hold. A share needs an id to count as one."""
    for number, (_, results) in enumerate(answer.results.items()):
        shares = tuple(replace(one, share_id="trial") if one.consumed else one for one in results)
        yield AllocatedClaim(ref=_TRIAL, uid=ClaimUid(f"trial {number}"), results=shares)


@contextmanager
def _held(state: ClusterState, claims: Sequence[AllocatedClaim]) -> Iterator[None]:
    for claim in claims:
        state.hold(claim)
    try:
        yield
    finally:
        for claim in claims:
            state.release(holder_of(claim))
