"""Answers one question about a cluster that is given as a value, with an engine made for that question.

Callers with several questions about one cluster should keep an ``Engine`` instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.node_choice import Admits
from scheduler_core.engine.policy.policies import FIRST_FIT, Policy
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, FeasibleNodes
from scheduler_core.search.answer import ShareIds, with_share_ids


def allocate(
    claims: Sequence[Claim],
    cluster: Cluster,
    node: Node,
    share_ids: ShareIds | None = None,
    *,
    policy: Policy = FIRST_FIT,
) -> Answer:
    """Allocate the claims together on one node.

    ``share_ids`` makes the ids of the shares of devices that several claims may use. Without it the
    answer has no such ids, and the caller adds them before it writes the answer.
    Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector that
            does not compile, or fails on a device for which it is evaluated.
    """
    return _completed(Engine.of(cluster, policy).allocate(claims, node), cluster, share_ids)


def allocate_somewhere(
    claims: Sequence[Claim],
    cluster: Cluster,
    nodes: Sequence[Node],
    share_ids: ShareIds | None = None,
    *,
    policy: Policy = FIRST_FIT,
    admits: Admits | None = None,
) -> Answer:
    """Allocate on the node that the policy prefers.

    Shape: as ``Engine.allocate_somewhere``.
    Raises: as ``allocate``; ValueError without an admitted node.
    """
    answer = Engine.of(cluster, policy).allocate_somewhere(claims, nodes, admits=admits)
    return _completed(answer, cluster, share_ids)


def feasible_nodes(claims: Sequence[Claim], cluster: Cluster, nodes: Sequence[Node]) -> FeasibleNodes:
    """Return on which nodes the claims fit.

    Raises: as ``allocate``.
    """
    return Engine.of(cluster, FIRST_FIT).feasible_nodes(claims, nodes)


def _completed(answer: Answer, cluster: Cluster, share_ids: ShareIds | None) -> Answer:
    if share_ids is None or not isinstance(answer, Allocation):
        return answer
    return with_share_ids(answer, cluster.pools, share_ids)
