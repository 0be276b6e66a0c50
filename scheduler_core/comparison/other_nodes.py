"""Why a node was chosen and not another one: the price of the claims there, or why they do not fit.

Takes the chosen answer and the answers of other nodes; returns a comparison with each. Nothing is decided
here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.comparison.remaining_parts import PartDifference, RemainingParts, States
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.result import Allocation, Reason, Unallocatable


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherNode:
    """Another node.

    Shape: ``refused`` is None where the claims fit; ``is_compared`` whether the policy compared the node with
           the chosen one; ``yields`` whether the claims would get less preferred alternatives there;
           ``extra`` and ``remaining`` are as in ``Rival``; ``alike`` names further nodes of which the same
           is true.
    """

    node: str
    refused: Reason | None
    is_compared: bool
    yields: bool = False
    extra: float = 0.0
    remaining: tuple[PartDifference, ...] = ()
    alike: tuple[str, ...] = ()


def compare_nodes(
    allocation: Allocation,
    others: Sequence[Allocation | Unallocatable],
    claims: Sequence[Claim],
    cluster: Cluster,
    compared: Collection[str],
) -> tuple[OtherNode, ...]:
    """Compare an answer with those of other nodes by what each leaves.

    Shape: in the order of ``others``; ``compared`` names the nodes that the policy compared.
    """
    parts = RemainingParts(cluster)
    states = _after(allocation, parts)
    price, options = parts.price(states), _options(allocation, claims)
    found = []
    for other in others:
        is_compared = other.node in compared
        if isinstance(other, Unallocatable):
            found.append(OtherNode(node=other.node, refused=other.reasons[0], is_compared=is_compared))
            continue
        states_there = _after(other, parts)
        one = OtherNode(
            node=other.node,
            refused=None,
            is_compared=is_compared,
            yields=_options(other, claims) > options,
            extra=round(parts.price(states_there) - price, 9),
            remaining=parts.differences(states, states_there),
        )
        found.append(one)
    return tuple(found)


def _options(allocation: Allocation, claims: Sequence[Claim]) -> tuple[int, ...]:
    """Return which alternative each request got, 0 for the most preferred one."""
    found = []
    for claim in claims:
        given = {result.request for result in allocation.results[claim.ref]}
        for request in claim.requests:
            names = [alternative.name for alternative in request.alternatives]
            found.append(next((number for number, name in enumerate(names) if name in given), 0))
    return tuple(found)


def _after(allocation: Allocation, parts: RemainingParts) -> States:
    return parts.after(
        one.device for results in allocation.results.values() for one in results if not one.admin_access
    )
