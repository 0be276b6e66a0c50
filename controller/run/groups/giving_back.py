"""Claims that a group gives back: which they are, until the watch shows that they have no devices.

Takes members; returns releases. Pure; for one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.gangs.values import GroupKey
from controller.model.claims import ClaimSeen
from controller.model.pods import Pod
from controller.plan.plans import Release
from controller.run.groups.roster import Roster
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.model.claim import ClaimRef


class GivingBack:
    """What groups are giving back, by the UIDs of the claims."""

    def __init__(self, seen: ClusterSeen, roster: Roster) -> None:
        self._seen = seen
        self._roster = roster
        self._groups: dict[GroupKey, frozenset[str]] = {}

    def begin(self, key: GroupKey, pods: Sequence[Pod]) -> tuple[Release, ...]:
        """Let pods give back all devices that nobody else uses; return the writes."""
        releases = tuple(self._releases(pods))
        if releases:
            self._groups[key] = frozenset(one.uid for one in releases)
        return releases

    def left(self, key: GroupKey) -> tuple[Release, ...]:
        """Return the writes that are not done yet, as far as is known; none where all is given back."""
        mine = self._groups.get(key)
        if mine is None:
            return ()
        pods = [pod for pod in self._roster.pods(key) if pod.is_waiting]
        releases = tuple(one for one in self._releases(pods) if one.uid in mine)
        if not releases:
            del self._groups[key]
        return releases

    def forget(self, key: GroupKey) -> None:
        """Forget a group without members: what its claims have goes with the pods."""
        self._groups.pop(key, None)

    def all_left(self) -> Iterator[Release]:
        """Yield the writes that are not done yet, of all groups."""
        for key in list(self._groups):
            yield from self.left(key)

    def has(self, claim: ClaimSeen) -> bool:
        """Whether a group gives a claim back."""
        return any(claim.uid in claims for claims in self._groups.values())

    def _releases(self, pods: Sequence[Pod]) -> Iterator[Release]:
        gone = frozenset(pod.uid for pod in pods)
        users: dict[ClaimRef, list[Pod]] = {}
        for pod in pods:
            for ref in self._roster.claims(pod):
                users.setdefault(ref, []).append(pod)
        for ref, mine in users.items():
            claim = self._seen.claims[ref]
            consumers = frozenset(one.uid for one in claim.consumers)
            is_used = any(one.resource != "pods" for one in claim.consumers)
            if not is_used and not any(map(self._seen.is_alive, consumers - gone)):
                unbound = tuple((pod.ref, pod.uid) for pod in mine)
                yield Release(ref, claim.uid, gone | consumers, unbound)
