"""Annotated claims on several nodes, tried one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.claims.annotated_claims import allocate_marked
from scheduler_core.frontends.claims.claim_demands import Marks
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, Unallocatable, Undecided


def allocate_marked_somewhere(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    engine: Engine,
    nodes: Sequence[Node],
    tables: Mapping[str, NodeTable],
) -> Answer | None:
    """Allocate claims together on the first node that fits, None where no claim or node is annotated.

    Shape: without a node that fits, the first undecided answer, else the refusal of the first node.
    Raises: as ``annotated_claims.allocate_marked``.
    """
    if set(marks.values()) <= {Marks()} and all(table.is_empty for table in tables.values()):
        return None
    others: list[Unallocatable | Undecided] = []
    for node in nodes:
        found = allocate_marked(claims, marks, engine, node, tables.get(node.name))
        if isinstance(found, Allocation):
            return found
        others.append(found)
    return answer_without_allocation(others)


def answer_without_allocation(answers: Sequence[Unallocatable | Undecided]) -> Answer | None:
    """Return the first undecided answer, else the first refusal; None where no node was tried.

    A node without an answer could fit, so a refusal alone would be wrong.
    """
    undecided = [one for one in answers if isinstance(one, Undecided)]
    return next(iter([*undecided, *answers]), None)
