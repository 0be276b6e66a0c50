"""Why ``first-fit`` took a device and none of the devices before it; and what each request matches.

Takes claims, a cluster and a node; and an allocation for ``first_fit_choices``. Returns for each earlier
device its obstacle. Nothing is decided or searched here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.explain.replay import Replay, given_to, place_of
from scheduler_core.model.claim import AllocatedDevice, Claim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import ConstraintRefuses, Obstacle, OthersDoNotFit
from scheduler_core.model.refusal import Considered, Demand
from scheduler_core.model.result import Allocation
from scheduler_core.rules.constraints import Rule
from scheduler_core.rules.scopes import SameSets
from scheduler_core.search.candidates import Candidate
from scheduler_core.search.depth_first import SearchAlternative, SearchRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFitChoice:
    """A device that a request got.

    Shape: ``passed`` are the devices before it in order of preference that the request did not get;
           ``yielded`` are the alternatives before the one that was chosen.
    """

    claim: ClaimRef
    request: str
    device: DeviceId
    passed: tuple[Considered, ...]
    yielded: tuple[Demand, ...]


def demands(claims: Sequence[Claim], cluster: Cluster, node: Node) -> tuple[Demand, ...]:
    """Return what every request matches on the node in the present state, each request by itself.

    Shape: requests in order, an entry per alternative.
    Raises: as ``allocate``.
    """
    replay = Replay(claims, cluster, node)
    return tuple(
        replay.demand(claims[request.claim].ref, alternative)
        for request in replay.problem.requests
        for alternative in request.alternatives
    )


def first_fit_choices(
    allocation: Allocation, claims: Sequence[Claim], cluster: Cluster, node: Node
) -> tuple[FirstFitChoice, ...]:
    """Return why each device of a ``first-fit`` answer was the first possible one.

    Shape: in the order of the results.
    Raises: as ``allocate``.
    """
    in_order = _InOrder(claims, cluster, node)
    found: list[FirstFitChoice] = []
    for request in in_order.requests:
        ref = claims[request.claim].ref
        found += in_order.choose(ref, request, given_to(request, allocation.results[ref]))
    return tuple(found)


class _InOrder:
    """Takes devices one by one, in the order of the search."""

    def __init__(self, claims: Sequence[Claim], cluster: Cluster, node: Node) -> None:
        self._replay = Replay(claims, cluster, node)
        self._constraints = [constraint for claim in claims for constraint in claim.constraints]
        self.requests = self._replay.problem.requests

    def choose(
        self, ref: ClaimRef, request: SearchRequest, given: Sequence[AllocatedDevice]
    ) -> Iterator[FirstFitChoice]:
        """Yield the choices of one request, and take its devices."""
        place, id_of = place_of(request, given), self._replay.id_of
        alternative = request.alternatives[place]
        yielded = tuple(self._replay.demand(ref, other) for other in request.alternatives[:place])
        places = {id_of(one): index for index, one in enumerate(alternative.candidates)}
        mine = {one.device for one in given}
        for result in given:
            before = (
                one for one in alternative.candidates[: places[result.device]] if id_of(one) not in mine
            )
            passed = tuple(Considered(id_of(one), self._passed(alternative, one)) for one in before)
            yield FirstFitChoice(
                claim=ref, request=alternative.name, device=result.device, passed=passed, yielded=yielded
            )
            taken = alternative.candidates[places[result.device]]
            self._replay.take(ref, alternative, taken)
            for number in alternative.rules:
                self._rule(number, alternative).add(taken.offer.device)

    def _passed(self, alternative: SearchAlternative, candidate: Candidate) -> Obstacle:
        obstacle = self._replay.obstacle(alternative, candidate)
        if obstacle is not None:
            return obstacle
        for number in alternative.rules:
            if not self._rule(number, alternative).admits(candidate.offer.device):
                return ConstraintRefuses(self._constraints[number])
        return OthersDoNotFit()

    def _rule(self, number: int, alternative: SearchAlternative) -> Rule:
        rule = self._replay.problem.rules[number]
        return rule.seat(alternative.name) if isinstance(rule, SameSets) else rule
