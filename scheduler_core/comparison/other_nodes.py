"""Why a node was chosen and not another one: the price of the claims there, or why they do not fit.

Takes the chosen answer and the answers of other nodes; returns a comparison with each. Nothing is decided
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_core.comparison.remaining_parts import PartDifference, RemainingParts, States
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.result import Allocation, Reason, Unallocatable


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherNode:
    """Another node.

    Shape: ``refused`` is None where the claims fit; ``extra`` and ``remaining`` are as in ``Rival``.
    """

    node: str
    refused: Reason | None
    extra: float = 0.0
    remaining: tuple[PartDifference, ...] = ()


def compare_nodes(
    allocation: Allocation, others: Sequence[Allocation | Unallocatable], cluster: Cluster
) -> tuple[OtherNode, ...]:
    """Compare an answer with those of other nodes by what each leaves. Shape: in the order of ``others``."""
    parts = RemainingParts(cluster)
    states = _after(allocation, parts)
    price = parts.price(states)
    found = []
    for other in others:
        if isinstance(other, Unallocatable):
            found.append(OtherNode(node=other.node, refused=other.reasons[0]))
            continue
        states_there = _after(other, parts)
        extra = round(parts.price(states_there) - price, 9)
        differences = parts.differences(states, states_there)
        found.append(OtherNode(node=other.node, refused=None, extra=extra, remaining=differences))
    return tuple(found)


def _after(allocation: Allocation, parts: RemainingParts) -> States:
    return parts.after(
        one.device for results in allocation.results.values() for one in results if not one.admin_access
    )
