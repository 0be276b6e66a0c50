"""Nodes on which claims do not fit, those with the same reason together.

Takes claims, an engine and nodes that refuse them; returns groups, the node that comes closest first. Nodes
that the engine cannot tell apart for these claims are explained once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Unallocatable
from scheduler_core.model.sentences import decisive_text

_EXPLAINED: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedAlike:
    """Nodes on which claims do not fit for the same reason.

    Shape: ``nodes`` are names in the order asked; ``why`` is the reason without the node's name;
           ``refusal`` is the answer of one of them, None for nodes that were not explained one by one.
    """

    nodes: tuple[str, ...]
    why: str
    refusal: Unallocatable | None


def refused_nodes(claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node]) -> tuple[RefusedAlike, ...]:
    """Return the nodes by reason. Shape: the group first whose node comes closest; those not explained last.

    Raises: as ``allocate``.
    """
    alike: dict[Hashable, list[Node]] = {}
    for node in nodes:
        alike.setdefault(engine.likeness(claims, node), []).append(node)
    groups = list(alike.values())
    found: dict[str, tuple[list[str], Unallocatable]] = {}
    for group in groups[:_EXPLAINED]:
        answer = engine.allocate(claims, group[0])
        if isinstance(answer, Unallocatable):
            names = found.setdefault(decisive_text(answer), ([], answer))[0]
            names += [node.name for node in group]
    ordered = sorted(found.items(), key=lambda item: _closeness(item[1][1]), reverse=True)
    explained = [
        RefusedAlike(nodes=tuple(names), why=why, refusal=refusal) for why, (names, refusal) in ordered
    ]
    rest = tuple(node.name for group in groups[_EXPLAINED:] for node in group)
    why = "the claims do not fit there either"
    return (*explained, *([RefusedAlike(nodes=rest, why=why, refusal=None)] if rest else []))


def closest_first(nodes: Sequence[Node], groups: Sequence[RefusedAlike]) -> list[Node]:
    """Return the nodes, first one of each group: changes are tried on few nodes only."""
    first = {group.nodes[0]: place for place, group in enumerate(groups)}
    return sorted(nodes, key=lambda node: first.get(node.name, len(first)))


def _closeness(refusal: Unallocatable) -> tuple[int, float]:
    """Return how far requests come on a node: stages that leave enough, then what the next leaves."""
    stages, share = 0, 0.0
    for funnel in refusal.funnels:
        decisive = funnel.decisive
        stages += len(funnel.stages) + 1 if decisive is None else decisive
        if decisive is not None:
            share += funnel.stages[decisive].left / (funnel.needed or 1)
    return stages, share
