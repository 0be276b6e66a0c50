"""Cases whose claims or nodes carry annotations: joint allocation and tables of partitions, on claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import Policy
from scheduler_core.frontends.claims.annotated_claims import marks_of
from scheduler_core.frontends.claims.many_nodes import allocate_marked_somewhere
from scheduler_core.frontends.partitions.node_table import node_table_of
from scheduler_core.model.claim import Request
from scheduler_core.model.result import Allocation
from tangram.conformance.answering import Answered
from tangram.conformance.situation import Situation
from tangram.undecided import decided


def grown(situation: Situation, answer: Answered | None, content: Mapping[str, Any]) -> Situation:
    """Return the situation with the counts that claims stand for: types placed beside others may be more."""
    if not isinstance(answer, Allocation):
        return situation
    claims = []
    for claim, obj in zip(situation.claims, content["claims"], strict=True):
        joint = marks_of(obj).joint
        given = Counter(one.request for one in answer.results[claim.ref])
        more = set(joint.types[1:]) if joint is not None else set()
        claims.append(replace(claim, requests=tuple(_grown(one, more, given) for one in claim.requests)))
    return replace(situation, claims=tuple(claims))


def _grown(request: Request, more: Set[str], given: Mapping[str, int]) -> Request:
    (option,) = request.alternatives[:1]
    if request.name not in more or option.count is None or given[request.name] <= option.count:
        return request
    return replace(request, alternatives=(replace(option, count=given[request.name]),))


def marked_answer(content: Mapping[str, Any], situation: Situation, policy: Policy) -> Answered | None:
    """Return the answer of the first node that fits, None where nothing is annotated."""
    listed = content.get("nodes") or [content.get("node") or {}]
    try:
        tables = {node.name: node_table_of(obj) for node, obj in zip(situation.nodes, listed, strict=True)}
        marks = {
            claim.ref: marks_of(obj) for claim, obj in zip(situation.claims, content["claims"], strict=True)
        }
        engine = Engine.of(situation.cluster, policy)
        found = allocate_marked_somewhere(situation.claims, marks, engine, situation.nodes, tables)
        return decided(found) if found is not None else None
    except CoreError as refusal:
        return refusal
