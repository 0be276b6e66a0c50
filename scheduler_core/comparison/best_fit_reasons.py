"""Why this device and not its neighbours, where devices are chosen by what they leave for later claims.

In come an answer of policy ``best-fit``, the claims and the cluster; out comes, per device, what stands in
the way of each of its rivals, or what taking the rival instead would have cost. Everything else of the
answer stays in place: no order of taking is assumed. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

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

_NOTHING: Final = 1e-9  # prices that differ by less are one price


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A device that a request could have got instead of the one it got.

    Shape: ``obstacle`` is None where it could have been had, all else in place; then ``extra`` is what it
           would have cost more, and ``rooms`` the kinds of parts of which it would leave a different
           number, the weightiest first. ``extra`` is negative where it would have cost less: devices of
           several components are best_fit_choices one after another, and that may miss the best of all.
    Units: ``extra`` in prices of ``best-fit``: only their order means something.
    """

    device: DeviceId
    obstacle: Obstacle | None
    extra: float = 0.0
    rooms: tuple[PartDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BestFitChoice:
    """A device that a request got.

    Shape: ``rivals`` all other devices that the request matches and did not get, in listed order;
           ``yielded`` the alternatives before the one it answers.
    """

    claim: ClaimRef
    request: str
    device: DeviceId
    rivals: tuple[Rival, ...]
    yielded: tuple[Demand, ...]


def best_fit_choices(
    allocation: Allocation, claims: Sequence[Claim], cluster: Cluster, node: Node
) -> tuple[BestFitChoice, ...]:
    """Return why each device of an answer of policy ``best-fit`` was preferred to its rivals.

    Shape: in the order of the results.
    Raises: as ``allocate``.
    """
    return tuple(_Answer(allocation, claims, cluster, node).best_fit_choices())


@dataclass(frozen=True, slots=True)
class _Given:
    """A device of the answer, as its request sees it."""

    ref: ClaimRef
    alternative: SearchAlternative
    candidate: Candidate
    device: DeviceId


class _Answer:
    """An answer, taken as a whole."""

    def __init__(self, allocation: Allocation, claims: Sequence[Claim], cluster: Cluster, node: Node) -> None:
        self._allocation = allocation
        self._claims = claims
        self._features = cluster.features
        self._constraints = [constraint for claim in claims for constraint in claim.constraints]
        self._standing = Replay(claims, cluster, node)
        self._yielded = tuple(self._alternatives())
        self._given = tuple(self._all_given())
        for one in self._given:
            self._standing.take(one.ref, one.alternative, one.candidate)
        self._rooms = RemainingParts(cluster)
        self._states = self._rooms.after(self._taken())
        self._price = self._rooms.price(self._states)

    def best_fit_choices(self) -> Iterator[BestFitChoice]:
        """Yield every device with its rivals."""
        mine: dict[tuple[ClaimRef, str], set[DeviceId]] = {}
        for one in self._given:
            mine.setdefault((one.ref, one.alternative.name), set()).add(one.device)
        for one in self._given:
            same = mine[one.ref, one.alternative.name]
            self._standing.release(one.ref, one.alternative, one.candidate)
            rivals = tuple(
                self._rival(one, rival)
                for rival in one.alternative.candidates
                if self._standing.id_of(rival) not in same
            )
            self._standing.take(one.ref, one.alternative, one.candidate)
            yield BestFitChoice(
                claim=one.ref,
                request=one.alternative.name,
                device=one.device,
                rivals=rivals,
                yielded=self._yielded_to(one),
            )

    def _rival(self, one: _Given, rival: Candidate) -> Rival:
        device = self._standing.id_of(rival)
        obstacle = self._standing.obstacle(one.alternative, rival) or self._constrained(one, rival)
        if obstacle is not None:
            return Rival(device=device, obstacle=obstacle)
        states = self._rooms.after([*self._taken(without=one), device])
        extra = self._rooms.price(states) - self._price
        return Rival(
            device=device,
            obstacle=None,
            extra=extra if abs(extra) > _NOTHING else 0.0,
            rooms=self._rooms.differences(self._states, states),
        )

    def _constrained(self, one: _Given, rival: Candidate) -> Obstacle | None:
        """Return the constraint that the rival would break beside the other devices of the answer."""
        for number in one.alternative.rules:
            constraint = self._constraints[number]
            if not isinstance(constraint, MatchAttribute | DistinctAttribute):
                continue  # best-fit weighs nothing under the constraints that compare scopes
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
        """Yield, per request, what its earlier alternatives find, before anything is taken."""
        for request, ref, given in self._requests():
            place = place_of(request, given)
            demands = tuple(
                self._standing.demand(ref, alternative) for alternative in request.alternatives[:place]
            )
            yield (ref, request.alternatives[place].name), demands

    def _yielded_to(self, one: _Given) -> tuple[Demand, ...]:
        return next(found for key, found in self._yielded if key == (one.ref, one.alternative.name))

    def _all_given(self) -> Iterator[_Given]:
        for request, ref, given in self._requests():
            alternative = request.alternatives[place_of(request, given)]
            candidates = {self._standing.id_of(one): one for one in alternative.candidates}
            for result in given:
                yield _Given(ref, alternative, candidates[result.device], result.device)

    def _requests(self) -> Iterator[tuple[SearchRequest, ClaimRef, tuple[AllocatedDevice, ...]]]:
        for request in self._standing.problem.requests:
            ref = self._claims[request.claim].ref
            yield request, ref, given_to(request, self._allocation.results[ref])
