"""On which nodes a pod may get devices, devices aside: ownership, rules, room, and what is known against a
node.

``why_not`` is asked for few nodes per decision, so answers about rules are kept per pair of rules and node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from controller.decide.question import Question
from controller.fit.rules import forbidden
from controller.model.nodes import ClusterNode
from controller.model.placement import Placement
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.model.nodes import Node, admits

_KEPT = 256  # sets of rules


class Candidates:
    """Judges nodes for pods. Pure; for one thread."""

    def __init__(self, seen: ClusterSeen) -> None:
        self._seen = seen
        self._rules: dict[Placement, dict[str, tuple[ClusterNode, str | None]]] = {}

    def admitting(
        self, question: Question, against: Mapping[str, str], reserved: Set[str] = frozenset()
    ) -> Callable[[Node], bool]:
        """Return a predicate that is true for the nodes on which the pod may run.

        Shape: ``against`` are reasons by node why a node will not do for this pod; ``reserved`` are nodes
               that are held back for other pods.
        """
        return lambda node: node.name not in reserved and self.why_not(question, node.name, against) is None

    def why_not(self, question: Question, name: str, against: Mapping[str, str]) -> str | None:
        """Return why the pod may not run on a node, in words that are equal for equal reasons; else None."""
        rule = self.rule_against(question, name)
        if rule is not None:
            return rule
        lacking = list(self._seen.rooms.lacking(name, question.pod.needs))
        if lacking:
            return f"had too little {', '.join(lacking)}"
        return against.get(name)

    def rule_against(self, question: Question, name: str) -> str | None:
        """Return why the pod may not run on a node even if it were empty, None where it may."""
        node = self._seen.nodes.get(name)
        if node is None:
            return "had devices but no Node object"
        if name not in self._seen.owned:
            return "left the devices to kube-scheduler"
        if not self._seen.owned.is_settled(name):
            return "came to the controller a moment ago"
        rule = self._forbidden(question.pod.placement, node)
        if rule is not None:
            return rule
        if any(not admits(selection, node.core) for selection in question.fixed):
            return "could not use the pod's allocated claims"
        return None

    def _forbidden(self, placement: Placement, node: ClusterNode) -> str | None:
        known = self._rules.get(placement)
        if known is None:
            if len(self._rules) >= _KEPT:
                self._rules.clear()
            known = self._rules[placement] = {}
        found = known.get(node.name)
        if found is None or found[0] is not node:
            found = known[node.name] = (node, forbidden(placement, node))
        return found[1]
