"""Allocates claims with the plain search, the reference for the engine.

Takes claims, a cluster and a node; returns an ``Allocation``, an ``Unallocatable`` or an ``Undecided``. The
claims of one call are allocated together or not at all. Users of the core call
``scheduler_core.api.allocate``, which gives the same answers from tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.base.errors import SelectorError
from scheduler_core.explain.explain import explain
from scheduler_core.explain.refusal_details import RefusalDetails
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, FeasibleNodes, Unallocatable, Undecided
from scheduler_core.search.answer import ShareIds, allocation
from scheduler_core.search.candidates import located
from scheduler_core.search.depth_first import Problem, Search, plain_search
from scheduler_core.search.problem import problem_of


def allocate(
    claims: Sequence[Claim],
    cluster: Cluster,
    node: Node,
    share_ids: ShareIds | None = None,
    *,
    most: float | None = None,
) -> Answer:
    """Allocate the claims together on one node, by policy ``first-fit``, with the plain search.

    ``most`` bounds the steps, ``DECISION`` where it is None; an oracle may ask without a bound.
    ``share_ids`` makes the ids for shares of shareable devices. Without it the caller adds them before the
    answer is written.
    Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector that
            does not compile, or fails on a device that was tried.
    """
    ordered = replace(cluster, pools=cluster.pools_seen_from(node))
    try:
        problem = problem_of(claims, ordered, node)
        search = plain_search(problem, most)
        if not search.run():
            return _refused(claims, ordered, node, problem, most)
    except SelectorError as error:
        raise located(error, claims, cluster.classes) from None
    except EffortExceeded as exceeded:
        return Undecided(node=node.name, steps=int(exceeded.limit), why="the plain search reached its bound")
    return allocation(claims, problem, search.chosen, cluster=ordered, node=node, share_ids=share_ids)


def _refused(
    claims: Sequence[Claim], cluster: Cluster, node: Node, problem: Problem, most: float | None
) -> Unallocatable:
    effort = Effort(most=DECISION)

    def fits(part: Sequence[Claim]) -> bool | None:
        try:
            return Search(problem_of(part, cluster, node), effort).run()
        except EffortExceeded:
            return None

    def fits_relaxed(relaxed: Problem, *_: object) -> bool | None:
        try:
            return plain_search(relaxed, most).run()
        except (SelectorError, EffortExceeded):
            return None

    return Unallocatable(
        node=node.name,
        reasons=explain(claims, cluster, node, problem, fits_relaxed),
        findings=RefusalDetails(claims, cluster, node, fits),
    )


def allocate_somewhere(
    claims: Sequence[Claim], cluster: Cluster, nodes: Sequence[Node], share_ids: ShareIds | None = None
) -> Answer:
    """Allocate on the first node that fits.

    Shape: where none does, the first node's answer, or the first that is undecided.
    Raises: as ``allocate``; ValueError without a node.
    """
    others: list[Unallocatable | Undecided] = []
    for node in nodes:
        answer = allocate(claims, cluster, node, share_ids)
        if isinstance(answer, Allocation):
            return answer
        others.append(answer)
    if not others:
        raise ValueError("allocate_somewhere needs at least one node")
    return next((one for one in others if isinstance(one, Undecided)), others[0])


def feasible_nodes(claims: Sequence[Claim], cluster: Cluster, nodes: Sequence[Node]) -> FeasibleNodes:
    """Return on which nodes the claims fit.

    Raises: as ``allocate``.
    """
    answers = [(node.name, allocate(claims, cluster, node)) for node in nodes]
    return FeasibleNodes(
        names=tuple(name for name, answer in answers if isinstance(answer, Allocation)),
        undecided=tuple(answer for _, answer in answers if isinstance(answer, Undecided)),
    )
