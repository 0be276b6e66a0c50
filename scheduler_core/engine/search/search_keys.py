"""Keys of partial assignments: where two keys are equal, the rest of the search has the same result.

A key leaves out what no later request depends on: a rule whose requests are all served, and the number of
results where all alternatives want equally many devices. Keys do not distinguish interchangeable clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set

from scheduler_core.engine.search.attribute_values import AttributeValues
from scheduler_core.engine.search.partial_assignment import PartialAssignment
from scheduler_core.engine.search.search_rules import (
    DistinctRule,
    FixedRule,
    MatchRule,
    SameScopeRule,
    SearchRule,
    State,
)
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.engine.search.symmetry import Symmetry


class SearchKeys:
    """Makes the keys of one search. ``is_fixed``: no two parts of the node are interchangeable."""

    def __init__(self, space: SearchSpace, rules: Sequence[SearchRule], *, is_fixed: bool) -> None:
        self._space = space
        self._rules = rules
        self._compared: list[AttributeValues] = []
        self._number: dict[int, int] = {}
        for index, rule in enumerate(rules):
            if isinstance(rule, MatchRule | DistinctRule | SameScopeRule):
                self._number[index] = len(self._compared)
                self._compared.append(rule.values)
        self._symmetry = Symmetry(space, self._compared, is_fixed=is_fixed)
        fixed = {index for index, rule in enumerate(rules) if isinstance(rule, FixedRule)}
        requests = range(len(space.requests) + 1)
        self._live_rules = [self._rules_from(index, self._number.keys()) for index in requests]
        self._live_fixed = [self._rules_from(index, fixed) for index in requests]
        self._live_claims = [self._claims_from(index) for index in range(len(space.requests) + 1)]

    def _rules_from(self, index: int, rules: Set[int]) -> tuple[int, ...]:
        """Return those of some rules that bind this request or a later one."""
        bound = {rule for options in self._space.requests[index:] for one in options for rule, _ in one.rules}
        return tuple(sorted(bound & rules))

    def _claims_from(self, index: int) -> tuple[int, ...]:
        """Return the claims with admin access of which this request or a later one is part."""
        watching = {
            one.alternative.claim
            for options in self._space.requests
            for one in options
            if one.alternative.admin_access
        }
        later = {options[0].alternative.claim for options in self._space.requests[index:]}
        return tuple(sorted(watching & later))

    def key(self, assignment: PartialAssignment, request: int, place: Hashable, mine: int) -> Hashable:
        """Return the key of a turn of a request.

        Shape: ``place`` is compared as it is; ``mine`` are the shareable devices that the request has
               already: it never gets them again, though other requests may.
        """
        rules = [
            (rule, *_parts(self._rules[rule], assignment.rules[rule])) for rule in self._live_rules[request]
        ]
        claims = self._live_claims[request]
        # A fixed rule depends on the devices in use before the search, and equal clusters may differ in that.
        fixed = [mask for rule in self._live_fixed[request] if (mask := assignment.admitted(rule)) != -1]
        clusters = sorted(
            (
                self._symmetry.classes[cluster],
                *self._cluster_key(cluster, assignment, rules, claims),
                tuple([self._symmetry.local(cluster, mask) for mask in fixed]),
                self._symmetry.local(cluster, mine),
            )
            for cluster in range(len(self._symmetry.clusters))
        )
        rest = tuple(
            (extra, *[mask & self._symmetry.shared[self._number[rule]] for mask in masks])
            for rule, extra, masks in rules
        )
        return place, tuple(clusters), rest

    def _cluster_key(
        self,
        cluster: int,
        assignment: PartialAssignment,
        rules: Sequence[tuple[int, Hashable, tuple[int, ...]]],
        claims: Sequence[int],
    ) -> tuple[object, ...]:
        symmetry, components = self._symmetry, self._symmetry.clusters[cluster]
        values = tuple(
            symmetry.local_values(cluster, self._number[rule], mask)
            for rule, _, masks in rules
            for mask in masks
        )
        admin = tuple(
            symmetry.local(cluster, mask)
            for claim in claims
            for mask in (assignment.used[claim], assignment.watched[claim])
        )
        states = tuple(assignment.states[component] for component in components)
        blocked = symmetry.local(cluster, assignment.blocked)
        return states, values, admin, blocked, self._shares(cluster, assignment)

    def _shares(self, cluster: int, assignment: PartialAssignment) -> tuple[object, ...]:
        if not assignment.consumed:
            return ()
        mine = [
            (self._symmetry.local(cluster, 1 << device), held) for device, held in assignment.consumed.items()
        ]
        return tuple(sorted(entry for entry in mine if entry[0]))


def _parts(rule: SearchRule, state: State) -> tuple[Hashable, tuple[int, ...]]:
    """Return a rule's state without its sets of values, and these sets."""
    if isinstance(rule, SameScopeRule):
        return tuple(count for _, count in state), tuple(mask for mask, _ in state)
    return (state == -1, (0,)) if state == -1 else (False, (state,))
