"""Who is in which group, what is asked of the group, and what each member has.

Pods and PodGroups go in as they change; values come out when they are asked for. Pure; for one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from controller.decide.allocator import Allocator
from controller.decide.question import NotYet, Question, question_of
from controller.gangs.life import Members
from controller.gangs.reading import agreed
from controller.gangs.seen import PodGroupSeen
from controller.gangs.values import Gang, GroupKey, Source
from controller.model.pods import Pod
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.base.errors import CoreError
from scheduler_core.model.claim import ClaimRef


class Standing(Enum):
    """What a member has."""

    UNREADY = auto()
    """It cannot be served yet, so it does not count."""
    WAITING = auto()
    HOLDING = auto()
    BOUND = auto()


@dataclass(frozen=True, slots=True)
class Member:
    """A member. Shape: ``question`` of one that waits; ``why`` of one that is not ready."""

    pod: Pod
    standing: Standing
    question: Question | None = None
    why: str = ""
    is_partly: bool = False


class Roster:
    """The groups of a cluster."""

    def __init__(self, seen: ClusterSeen, allocator: Allocator) -> None:
        self._seen = seen
        self._allocator = allocator
        self._pods: dict[GroupKey, dict[str, Pod]] = {}
        self._asked: dict[GroupKey, PodGroupSeen] = {}

    def put(self, pod: Pod) -> None:
        """Add a pod, or replace it. One that has failed or is being deleted is no member."""
        if pod.group is not None and not pod.has_failed and not pod.is_leaving:
            self._pods.setdefault(pod.group.key, {})[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        """Forget a pod."""
        pods = None if pod.group is None else self._pods.get(pod.group.key)
        if pods is not None and pod.group is not None:
            pods.pop(pod.uid, None)
            if not pods:
                del self._pods[pod.group.key]

    def set_group(self, key: GroupKey, group: PodGroupSeen | None) -> None:
        """Set what a PodGroup asks for, None where it is gone."""
        if group is None:
            self._asked.pop(key, None)
        else:
            self._asked[key] = group

    def pods(self, key: GroupKey) -> tuple[Pod, ...]:
        """Return the members by name."""
        return tuple(sorted(self._pods.get(key, {}).values(), key=lambda pod: pod.ref))

    def gang(self, key: GroupKey) -> Gang | str | None:
        """Return what is asked of a group, one sentence where that is not known, None for single pods."""
        if key.source is not Source.KOORDINATOR:
            found = self._asked.get(key)
            if found is None:
                return f"{key.source} {key} does not exist"
            return found.problem or found.gang
        try:
            stated = agreed(
                key, [(pod.ref.name, pod.group) for pod in self.pods(key) if pod.group is not None]
            )
        except CoreError as error:
            return str(error)
        return stated or f"no pod of group {key} says how many members it needs at least"

    def members(self, key: GroupKey) -> tuple[Member, ...]:
        """Return the members by name."""
        return tuple(map(self._member, self.pods(key)))

    def _member(self, pod: Pod) -> Member:
        if pod.node or pod.is_over:
            return Member(pod, Standing.BOUND)
        has_part = any(True for _ in self.claims(pod))
        question = question_of(pod, self._seen)
        if isinstance(question, NotYet):
            return Member(pod, Standing.UNREADY, None, question.why, has_part)
        try:
            is_asking = question.amounts is not None or bool(self._allocator.ours(question))
        except CoreError as error:
            return Member(pod, Standing.UNREADY, None, str(error), has_part)
        if is_asking or (pod.is_gated and not has_part):
            return Member(pod, Standing.WAITING, question, "", has_part)
        return Member(pod, Standing.HOLDING)

    def claims(self, pod: Pod) -> Iterator[ClaimRef]:
        """Yield the claims of a pod that have devices of ours."""
        for one in pod.claims:
            if one.claim is not None:
                ref = ClaimRef(pod.ref.namespace, one.claim)
                claim = self._seen.claims.get(ref)
                if claim is not None and self._seen.is_ours(claim):
                    yield ref


def counted(members: tuple[Member, ...]) -> Members:
    """Return the members of a group by what they have."""

    def those(standing: Standing) -> frozenset[str]:
        return frozenset(one.pod.uid for one in members if one.standing is standing)

    return Members(
        waiting=those(Standing.WAITING),
        holding=those(Standing.HOLDING),
        bound=those(Standing.BOUND),
        partly=frozenset(one.pod.uid for one in members if one.is_partly),
    )
