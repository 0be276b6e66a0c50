"""What a node must have beside devices for the members of a group: rules of the pod, CPU, memory, pods.

Takes questions and what is known of the cluster; answers while the core searches for devices.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set

from controller.decide.candidates import Candidates
from controller.decide.question import Question
from controller.fit.rooms import Rooms
from controller.model.resources import NOTHING, Amounts
from scheduler_core.engine.together.values import GroupMember
from scheduler_core.model.nodes import Node

Against = Mapping[str, str]


class GroupRoom:
    """The room for one group.

    Shape: ``asked`` are the question of each member, by its id, and the nodes that will not do for it;
           ``reserved`` are nodes that are held back for other pods.
    """

    def __init__(
        self,
        candidates: Candidates,
        rooms: Rooms,
        asked: Mapping[str, tuple[Question, Against]],
        reserved: Set[str],
    ) -> None:
        self._candidates = candidates
        self._rooms = rooms
        self._asked = asked
        self._reserved = reserved
        self._taken: dict[str, Amounts] = {}

    def admits(self, member: GroupMember, node: Node) -> bool:
        """Whether the node has room for one more member, beside those that were taken."""
        question, against = self._asked[member.id]
        name = node.name
        if name in self._reserved or name in against:
            return False
        if self._candidates.rule_against(question, name) is not None:
            return False
        left = self._rooms.free(name).minus(self._taken.get(name, NOTHING))
        needs = self._needs(question, name)
        return all(need <= free or not need for need, free in zip(needs, left, strict=True))

    def take(self, member: GroupMember, node: Node) -> None:
        """Count a member that is admitted."""
        needs = self._needs(self._asked[member.id][0], node.name)
        self._taken[node.name] = self._taken.get(node.name, NOTHING).plus(needs)

    def give(self, member: GroupMember, node: Node) -> None:
        """Give back what ``take`` counted."""
        needs = self._needs(self._asked[member.id][0], node.name)
        self._taken[node.name] = self._taken[node.name].minus(needs)

    def _needs(self, question: Question, node: str) -> Amounts:
        """Return what a pod needs of a node, nothing where it is counted there already."""
        pod = question.pod
        return NOTHING if self._rooms.node_of(pod.uid) == node else pod.needs


def needs_of(question: Question, against: Against, rooms: Rooms) -> Hashable:
    """Return a key that is equal for members which a room treats alike on every node."""
    pod = question.pod
    counted = rooms.node_of(pod.uid)
    return pod.placement, pod.needs, question.fixed, tuple(sorted(against.items())), counted
