"""How many more of some claims fit, on each node and in all.

The claims are allocated one after another until they do not fit; then the allocator is asked whether one more
fits if all are placed anew together, until it says no. So the number is the largest one, whatever the policy.
Nodes on which the claims fit alike are asked once. Nothing is held afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.planning.trial_changes import TrialChanges, copy_ref

MOST: Final = 1000
"""Copies that are counted on one node; a node that takes more counts as one that takes so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """How many more of some claims fit on one node.

    Shape: ``is_exact`` False where the search reached its bound, or where more than ``MOST`` fit: then at
           least ``count`` fit.
    """

    node: str
    count: int
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRoom:
    """How many more of some claims fit.

    Shape: ``nodes`` in the order asked; ``is_exact`` as in ``NodeRoom``.
    """

    nodes: tuple[NodeRoom, ...]
    count: int
    is_exact: bool = True


def copies(claims: Sequence[Claim], number: int) -> tuple[Claim, ...]:
    """Return one copy of some claims under names of its own."""
    return tuple(replace(claim, ref=copy_ref(claim.ref, number), uid=None) for claim in claims)


def room_for(engine: Engine, claims: Sequence[Claim], nodes: Sequence[Node]) -> ClusterRoom:
    """Return how many copies of some claims fit, each copy on one node.

    Shape: where a pool is offered to several nodes, what fits on one may not fit beside what fits on another:
           the total is then what fits one after another, and is not exact.
    Raises: as ``Engine.allocate``.
    """
    known: dict[Hashable, NodeRoom] = {}
    found = []
    for node in nodes:
        key = engine.likeness(claims, node)
        if key not in known:
            known[key] = _on_node(engine, claims, node)
        found.append(replace(known[key], node=node.name))
    if engine.may_share(claims, nodes):
        return ClusterRoom(nodes=tuple(found), count=_one_by_one(engine, claims, nodes), is_exact=False)
    total = sum(one.count for one in found)
    return ClusterRoom(nodes=tuple(found), count=total, is_exact=all(one.is_exact for one in found))


def _on_node(engine: Engine, claims: Sequence[Claim], node: Node) -> NodeRoom:
    number = _one_by_one(engine, claims, [node])
    while number < MOST:
        more = [claim for copy in range(number + 1) for claim in copies(claims, copy)]
        answer = engine.fits(more, node)
        if isinstance(answer, Undecided):
            return NodeRoom(node=node.name, count=number, is_exact=False)
        if not answer:
            return NodeRoom(node=node.name, count=number)
        number += 1
    return NodeRoom(node=node.name, count=number, is_exact=False)


def _one_by_one(engine: Engine, claims: Sequence[Claim], nodes: Sequence[Node]) -> int:
    """Return how many copies fit one after another, as the policy places them."""
    with TrialChanges(engine.state) as trial:
        for number in count():
            copy = copies(claims, number)
            answer = engine.decide_somewhere(copy, nodes) if number < MOST * len(nodes) else None
            if not isinstance(answer, Allocation):
                return number
            for claim in copy:
                trial.hold(claim, answer)
    raise AssertionError("count() never ends")
