"""Allocates claims with the plain search: the devices of each request, or the reasons why they do not fit.

Claims, a cluster and a node enter; an ``Allocation`` or an ``Unallocatable`` leaves. The claims of one call
are allocated together or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduler_core.base.errors import SelectorError
from scheduler_core.explain.explain import explain
from scheduler_core.explain.refusal_details import RefusalDetails
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.search.answer import ShareIds, allocation, combined
from scheduler_core.search.candidates import located
from scheduler_core.search.depth_first import Problem, Search
from scheduler_core.search.problem import books, problem_of

__all__ = ["allocate", "allocate_somewhere", "books", "combined", "feasible_nodes"]


def allocate(
    claims: Sequence[Claim], cluster: Cluster, node: Node, share_ids: ShareIds | None = None
) -> Allocation | Unallocatable:
    """Allocate the claims together on one node, by policy ``first-fit``.

    ``share_ids`` makes the ids for shares of shareable devices. Without it the caller adds them before the
    answer is written.
    Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector that
            does not compile, or fails on a device that was tried.
    """
    ordered = replace(cluster, pools=cluster.pools_seen_from(node))
    try:
        problem = problem_of(claims, ordered, node)
        search = Search(problem)
        if not search.run():
            return _refused(claims, ordered, node, problem)
    except SelectorError as error:
        raise located(error, claims, cluster.classes) from None
    return allocation(claims, problem, search.chosen, cluster=ordered, node=node, share_ids=share_ids)


def _refused(claims: Sequence[Claim], cluster: Cluster, node: Node, problem: Problem) -> Unallocatable:
    def fits(part: Sequence[Claim]) -> bool:
        return Search(problem_of(part, cluster, node)).run()

    return Unallocatable(
        node=node.name,
        reasons=explain(claims, cluster, node, problem),
        findings=RefusalDetails(claims, cluster, node, fits),
    )


def allocate_somewhere(
    claims: Sequence[Claim], cluster: Cluster, nodes: Sequence[Node], share_ids: ShareIds | None = None
) -> Allocation | Unallocatable:
    """Allocate on the first node that fits; the answer of the first node where none does.

    Raises: as ``allocate``; ValueError without a node.
    """
    first: Unallocatable | None = None
    for node in nodes:
        answer = allocate(claims, cluster, node, share_ids)
        if isinstance(answer, Allocation):
            return answer
        first = first or answer
    if first is None:
        raise ValueError("allocate_somewhere needs at least one node")
    return first


def feasible_nodes(claims: Sequence[Claim], cluster: Cluster, nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the names of the nodes on which the claims fit.

    Shape: in the order given.
    Raises: as ``allocate``.
    """
    return tuple(node.name for node in nodes if isinstance(allocate(claims, cluster, node), Allocation))
