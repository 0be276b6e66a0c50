"""Answers situations with this core and a policy. A refusal of the core is an answer too."""

from __future__ import annotations

from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import Policy
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.search.answer import with_share_ids
from tangram.conformance.situation import SHARE_ID, Situation
from tangram.undecided import decided

Answered = Allocation | Unallocatable | CoreError


def answer_of(situation: Situation, policy: Policy) -> Answered:
    """Return the answer of the first node that fits; of the first node where none does."""
    engine = Engine.of(situation.cluster, policy)
    try:
        answer = decided(engine.allocate_somewhere(situation.claims, situation.nodes))
    except CoreError as refusal:
        return refusal
    if not isinstance(answer, Allocation):
        return answer
    return with_share_ids(answer, situation.cluster.pools, lambda: SHARE_ID)


def feasible_nodes(situation: Situation, policy: Policy) -> list[str]:
    """Return the names of the nodes on which the claims fit."""
    found = Engine.of(situation.cluster, policy).feasible_nodes(situation.claims, situation.nodes)
    for undecided in found.undecided:
        decided(undecided)
    return list(found.names)
