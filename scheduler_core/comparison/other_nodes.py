"""Why this node and not another: what the claims would have cost there, or why they do not fit.

In come the answer that was given and the answers of other nodes; out comes a comparison with each. Nothing
is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_core.comparison.remaining_parts import PartDifference, RemainingParts, States
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.result import Allocation, Reason, Unallocatable


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherNode:
    """Another node. Shape: ``refused`` None where the claims fit; ``extra`` and ``rooms`` as in ``Rival``."""

    node: str
    refused: Reason | None
    extra: float = 0.0
    rooms: tuple[PartDifference, ...] = ()


def compare_nodes(
    allocation: Allocation, others: Sequence[Allocation | Unallocatable], cluster: Cluster
) -> tuple[OtherNode, ...]:
    """Compare an answer with those of other nodes by what each leaves. Shape: in the order of ``others``."""
    rooms = RemainingParts(cluster)
    states = _after(allocation, rooms)
    price = rooms.price(states)
    found = []
    for other in others:
        if isinstance(other, Unallocatable):
            found.append(OtherNode(node=other.node, refused=other.reasons[0]))
            continue
        there = _after(other, rooms)
        extra = round(rooms.price(there) - price, 9)
        differences = rooms.differences(states, there)
        found.append(OtherNode(node=other.node, refused=None, extra=extra, rooms=differences))
    return tuple(found)


def _after(allocation: Allocation, rooms: RemainingParts) -> States:
    return rooms.after(
        one.device for results in allocation.results.values() for one in results if not one.admin_access
    )
