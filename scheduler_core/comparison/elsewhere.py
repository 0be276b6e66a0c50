"""All other nodes than the chosen one: what the claims would leave there, or why they do not fit.

Takes an answer, the claims, an engine and nodes. Nodes that the engine cannot tell apart for these claims are
asked about once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.comparison.other_nodes import OtherNode, compare_nodes
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, Unallocatable

_EXPLAINED: Final = 32  # groups of nodes of which it is found out why the claims do not fit: some ms each


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Every node but the chosen one.

    Shape: ``nodes`` are one for each group of nodes that are alike, those first that the policy compared;
           ``rest`` names the nodes on which the claims do not fit and whose reason was not looked for, and
           those without an answer.
    """

    nodes: tuple[OtherNode, ...] = ()
    rest: tuple[str, ...] = ()


NOWHERE: Final = Elsewhere()
"""No other node."""


def compare_elsewhere(
    allocation: Allocation,
    claims: Sequence[Claim],
    engine: Engine,
    nodes: Sequence[Node],
    cluster: Callable[[Sequence[Node]], Cluster],
) -> Elsewhere:
    """Compare an answer with all other nodes.

    Shape: ``cluster`` returns what is counted for some nodes, the chosen one first.
    Raises: as ``Engine.allocate``.
    """
    compared = engine.compared_nodes(claims, nodes)
    names = {node.name for node in compared}
    chosen = [node for node in nodes if node.name == allocation.node]
    ordered = (*compared, *(node for node in nodes if node.name not in names))
    alike: dict[Hashable, list[Node]] = {}
    for node in ordered:
        if node.name != allocation.node:
            key = node.name in names, engine.likeness(claims, node)
            alike.setdefault(key, []).append(node)
    groups = list(alike.values())
    answers, rest, explained = list[Allocation | Unallocatable](), list[str](), 0
    for group in groups:
        answer: Answer | None = engine.decide(claims, group[0])
        if answer is None and explained < _EXPLAINED:
            answer, explained = engine.allocate(claims, group[0]), explained + 1
        if isinstance(answer, Allocation | Unallocatable):
            answers.append(answer)
        else:
            rest += [node.name for node in group]
    counted = cluster([*chosen, *(group[0] for group in groups)])
    found = compare_nodes(allocation, answers, claims, counted, names)
    further = {first.name: tuple(node.name for node in others) for first, *others in groups}
    return Elsewhere(tuple(replace(one, alike=further[one.node]) for one in found), tuple(rest))
