"""The ledgers of all pools while the devices of an answer are taken and released one by one.

Takes claims, a cluster and a node. At each point a replay answers which devices match a request and which
obstacle each of them has. Nothing is searched here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduler_core.books.ledger import Ledger
from scheduler_core.model.claim import AllocatedDevice, Claim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import Obstacle, SelectorFails
from scheduler_core.model.refusal import Considered, Demand
from scheduler_core.search.candidates import Candidate
from scheduler_core.search.depth_first import SearchAlternative, SearchRequest
from scheduler_core.search.problem import problem_of


class Replay:
    """The ledgers of the pools that a node sees. Shape: ``problem`` has the requests and their candidates."""

    def __init__(self, claims: Sequence[Claim], cluster: Cluster, node: Node) -> None:
        self._pools = cluster.pools_seen_from(node)
        self.problem = problem_of(claims, replace(cluster, pools=self._pools), node)

    def demand(self, ref: ClaimRef, alternative: SearchAlternative) -> Demand:
        """Return what a request matches in the present state."""
        matched = tuple(
            Considered(self.id_of(one), self.obstacle(alternative, one)) for one in alternative.candidates
        )
        needed = len(alternative.candidates) if alternative.count is None else alternative.count
        return Demand(claim=ref, request=alternative.name, needed=needed, matched=matched)

    def obstacle(self, alternative: SearchAlternative, candidate: Candidate) -> Obstacle | None:
        """Return what keeps a device from a request now, apart from constraints."""
        name, ledger = candidate.offer.device.name, self._ledger(candidate)
        is_skipped = not alternative.admin_access and ledger.is_whole_taken(name)
        if candidate.error is not None and not is_skipped:
            return SelectorFails(str(candidate.error))
        if candidate.obstacle is not None or alternative.admin_access:
            return candidate.obstacle
        return ledger.obstacle(name, candidate.share)

    def take(self, ref: ClaimRef, alternative: SearchAlternative, candidate: Candidate) -> None:
        """Take a device for a request. A request with admin access takes nothing."""
        if not alternative.admin_access:
            self._ledger(candidate).take(
                candidate.offer.device.name, _holder(ref, alternative), candidate.share
            )

    def release(self, ref: ClaimRef, alternative: SearchAlternative, candidate: Candidate) -> None:
        """Release what ``take`` took."""
        if not alternative.admin_access:
            self._ledger(candidate).release(
                candidate.offer.device.name, _holder(ref, alternative), candidate.share
            )

    def id_of(self, candidate: Candidate) -> DeviceId:
        """Return the identity of a candidate's device in the cluster."""
        return self._pools[candidate.offer.pool].id_of(candidate.offer.device)

    def _ledger(self, candidate: Candidate) -> Ledger:
        return self.problem.ledgers[candidate.offer.pool]


def _holder(ref: ClaimRef, alternative: SearchAlternative) -> str:
    return f"{ref} request {alternative.name}"


def place_of(request: SearchRequest, given: Sequence[AllocatedDevice]) -> int:
    """Return the index of the alternative that the devices were given for; 0 where there are none."""
    names = [alternative.name for alternative in request.alternatives]
    return names.index(given[0].request) if given else 0


def given_to(request: SearchRequest, results: Sequence[AllocatedDevice]) -> tuple[AllocatedDevice, ...]:
    """Return the results of a claim that belong to one of its requests."""
    names = {alternative.name for alternative in request.alternatives}
    return tuple(one for one in results if one.request in names)
