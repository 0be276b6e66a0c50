"""Which devices a constraint allows whatever else is chosen, as far as the candidates alone tell.

Takes claims and their problem. A device that is refused here is in no answer; one that is admitted may still
be in none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scheduler_core.base.features import Features
from scheduler_core.model.claim import Claim, DistinctAttribute, MatchAttribute, PreferScope
from scheduler_core.model.device import Device
from scheduler_core.rules.constraints import Typed, values_of
from scheduler_core.search.depth_first import Problem, SearchRequest


class Possible:
    """The constraints of claims, numbered through all claims as the rules of the problem are."""

    def __init__(self, claims: Sequence[Claim], problem: Problem, features: Features) -> None:
        self.constraints = [constraint for claim in claims for constraint in claim.constraints]
        self._places = [place for claim in claims for place in range(len(claim.constraints))]
        self._problem = problem
        self._lists = features.DRAListTypeAttributes
        self._common: dict[int, frozenset[Typed]] = {}

    def asks(self, number: int) -> bool:
        """Whether the constraint can refuse a device; a preference cannot."""
        return not isinstance(self.constraints[number], PreferScope)

    def place(self, number: int) -> int:
        """Return the index of a constraint in its claim."""
        return self._places[number]

    def admits(self, number: int, device: Device) -> bool:
        """Whether a device that matches may be in an answer under the constraint."""
        constraint = self.constraints[number]
        match constraint:
            case MatchAttribute(attribute=attribute):
                return bool(values_of(device, attribute, self._lists) & self._shared(number, constraint))
            case DistinctAttribute(attribute=attribute):
                return bool(values_of(device, attribute, self._lists))
            case _:
                return self._problem.rules[number].admits(device)

    def _shared(self, number: int, constraint: MatchAttribute) -> frozenset[Typed]:
        """Return the values of which every request under the constraint has enough candidates."""
        if number not in self._common:
            bound = [
                one
                for one in self._problem.requests
                if any(number in each.rules for each in one.alternatives)
            ]
            shared = [self._enough(one, number, constraint) for one in bound]
            self._common[number] = frozenset.intersection(*shared) if shared else frozenset()
        return self._common[number]

    def _enough(self, request: SearchRequest, number: int, constraint: MatchAttribute) -> frozenset[Typed]:
        """Return the values of which some alternative of a request has enough candidates."""
        found: set[Typed] = set()
        for alternative in request.alternatives:
            counted = Counter(
                value
                for one in alternative.candidates
                if one.obstacle is None
                for value in values_of(one.offer.device, constraint.attribute, self._lists)
            )
            least = len(alternative.candidates) if alternative.count is None else alternative.count
            found |= {value for value, count in counted.items() if count >= least}
            if number not in alternative.rules:
                return self._every()
        return frozenset(found)

    def _every(self) -> frozenset[Typed]:
        """Return every value of a constraint's attribute: an alternative is not bound by the constraint."""
        return frozenset(
            value
            for constraint in self.constraints
            if isinstance(constraint, MatchAttribute)
            for request in self._problem.requests
            for alternative in request.alternatives
            for one in alternative.candidates
            for value in values_of(one.offer.device, constraint.attribute, self._lists)
        )
