"""Whether an answer keeps every rule: checks answers that differ from the expected one."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.model.nodes import Node, admits
from scheduler_core.model.result import Allocation
from tangram.conformance.claim_rules import Requests
from tangram.conformance.pool_rules import broken_rules
from tangram.conformance.situation import Situation
from tangram.conformance.state import pools_seen, states


def violations(answer: Allocation, situation: Situation) -> Iterator[str]:
    """Yield a sentence for each rule that the answer breaks; nothing where it is valid."""
    node = next((one for one in situation.nodes if one.name == answer.node), Node(answer.node))
    if node not in situation.nodes:
        yield f"node {answer.node} was not asked"
    requests = Requests(situation.cluster, pools_seen(situation, node), node)
    for claim in situation.claims:
        yield from requests.broken_rules(claim, answer.results.get(claim.ref, ()))
        if not admits(answer.nodes[claim.ref], node):
            yield f"the node selector of claim {claim.ref} does not admit node {node.name}"
    for state in states(answer, situation, node):
        yield from broken_rules(state, situation.cluster.features.groups)
