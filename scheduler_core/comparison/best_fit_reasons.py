"""Why ``best-fit`` took a device and not another one: by what each of them leaves for later claims.

Takes an answer of policy ``best-fit``, the claims and the cluster. Returns, for each device of the answer and
each other device that matches its request, the obstacle, or the price of taking that device instead. The rest
of the answer stays as it is. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.comparison.remaining_parts import PartDifference, RemainingParts
from scheduler_core.explain.replay import Replay, given_to, place_of
from scheduler_core.model.claim import (
    AllocatedDevice,
    Claim,
    ClaimRef,
    DistinctAttribute,
    MatchAttribute,
)
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import ConstraintRefuses, Obstacle
from scheduler_core.model.refusal import Demand
from scheduler_core.model.result import Allocation
from scheduler_core.rules.constraints import rule_of
from scheduler_core.search.candidates import Candidate
from scheduler_core.search.depth_first import SearchAlternative, SearchRequest

_EQUAL: Final = 1e-9  # prices that differ by less are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A device that a request could have got instead of the one it got.

    Shape: ``obstacle`` is None where the rest of the answer allows the device. Then ``extra`` is its
           additional price, and ``remaining`` has the kinds of parts of which another number still fits, the
           largest difference in price first. ``extra`` is negative where the device is cheaper: best-fit
           chooses devices of several components one after another, which may miss the cheapest answer.
    Units: ``extra`` in prices of ``best-fit``, of which only the order has a meaning.
    """

    device: DeviceId
    obstacle: Obstacle | None
    extra: float = 0.0
    remaining: tuple[PartDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BestFitChoice:
    """A device that a request got.

    Shape: ``rivals`` are all other devices that match the request, in listed order; ``yielded`` are the
           alternatives before the one that was chosen.
    """

    claim: ClaimRef
    request: str
    device: DeviceId
    rivals: tuple[Rival, ...]
    yielded: tuple[Demand, ...]


def best_fit_choices(
    allocation: Allocation, claims: Sequence[Claim], cluster: Cluster, node: Node
) -> tuple[BestFitChoice, ...]:
    """Return why each device of a ``best-fit`` answer was preferred to its rivals.

    Shape: in the order of the results.
    Raises: as ``allocate``.
    """
    return tuple(_Answer(allocation, claims, cluster, node).best_fit_choices())


@dataclass(frozen=True, slots=True)
class _Given:
    """A device of the answer, with its request."""

    ref: ClaimRef
    alternative: SearchAlternative
    candidate: Candidate
    device: DeviceId


class _Answer:
    """An answer with all its devices taken."""

    def __init__(self, allocation: Allocation, claims: Sequence[Claim], cluster: Cluster, node: Node) -> None:
        self._allocation = allocation
        self._claims = claims
        self._features = cluster.features
        self._constraints = [constraint for claim in claims for constraint in claim.constraints]
        self._replay = Replay(claims, cluster, node)
        self._yielded = tuple(self._alternatives())
        self._given = tuple(self._all_given())
        for one in self._given:
            self._replay.take(one.ref, one.alternative, one.candidate)
        self._parts = RemainingParts(cluster)
        self._states = self._parts.after(self._taken())
        self._price = self._parts.price(self._states)

    def best_fit_choices(self) -> Iterator[BestFitChoice]:
        """Yield every device with its rivals."""
        mine: dict[tuple[ClaimRef, str], set[DeviceId]] = {}
        for one in self._given:
            mine.setdefault((one.ref, one.alternative.name), set()).add(one.device)
        for one in self._given:
            same = mine[one.ref, one.alternative.name]
            self._replay.release(one.ref, one.alternative, one.candidate)
            rivals = tuple(
                self._rival(one, rival)
                for rival in one.alternative.candidates
                if self._replay.id_of(rival) not in same
            )
            self._replay.take(one.ref, one.alternative, one.candidate)
            yield BestFitChoice(
                claim=one.ref,
                request=one.alternative.name,
                device=one.device,
                rivals=rivals,
                yielded=self._yielded_to(one),
            )

    def _rival(self, one: _Given, rival: Candidate) -> Rival:
        device = self._replay.id_of(rival)
        obstacle = self._replay.obstacle(one.alternative, rival) or self._constrained(one, rival)
        if obstacle is not None:
            return Rival(device=device, obstacle=obstacle)
        states = self._parts.after([*self._taken(without=one), device])
        extra = self._parts.price(states) - self._price
        return Rival(
            device=device,
            obstacle=None,
            extra=extra if abs(extra) > _EQUAL else 0.0,
            remaining=self._parts.differences(self._states, states),
        )

    def _constrained(self, one: _Given, rival: Candidate) -> Obstacle | None:
        """Return the constraint that the rival breaks with the other devices of the answer."""
        for number in one.alternative.rules:
            constraint = self._constraints[number]
            if not isinstance(constraint, MatchAttribute | DistinctAttribute):
                continue  # best-fit does not compare devices under constraints on scopes
            rule = rule_of(constraint, self._features)
            for other in self._given:
                if other is not one and number in other.alternative.rules:
                    rule.add(other.candidate.offer.device)
            if not rule.admits(rival.offer.device):
                return ConstraintRefuses(constraint)
        return None

    def _taken(self, without: _Given | None = None) -> list[DeviceId]:
        return [one.device for one in self._given if one is not without and not one.alternative.admin_access]

    def _alternatives(self) -> Iterator[tuple[tuple[ClaimRef, str], tuple[Demand, ...]]]:
        """Yield, per request, what its earlier alternatives match before any device is taken."""
        for request, ref, given in self._requests():
            place = place_of(request, given)
            demands = tuple(
                self._replay.demand(ref, alternative) for alternative in request.alternatives[:place]
            )
            yield (ref, request.alternatives[place].name), demands

    def _yielded_to(self, one: _Given) -> tuple[Demand, ...]:
        return next(found for key, found in self._yielded if key == (one.ref, one.alternative.name))

    def _all_given(self) -> Iterator[_Given]:
        for request, ref, given in self._requests():
            alternative = request.alternatives[place_of(request, given)]
            candidates = {self._replay.id_of(one): one for one in alternative.candidates}
            for result in given:
                yield _Given(ref, alternative, candidates[result.device], result.device)

    def _requests(self) -> Iterator[tuple[SearchRequest, ClaimRef, tuple[AllocatedDevice, ...]]]:
        for request in self._replay.problem.requests:
            ref = self._claims[request.claim].ref
            yield request, ref, given_to(request, self._allocation.results[ref])
