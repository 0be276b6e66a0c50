"""Looking ahead: can each open request still be served alone, and are there enough different values?

An open request is one that has not got its devices yet. The answer "no" is certain, "yes" is not. After a
"no" the search need not try any device for the open requests.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.search.match_values import MatchValues
from scheduler_core.engine.search.options import RequestOption
from scheduler_core.engine.search.partial_assignment import PartialAssignment
from scheduler_core.engine.search.search_rules import (
    DistinctRule,
    MatchRule,
    SameScopeRule,
    SearchRule,
    State,
)
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.tables.bits import positions


@dataclass(slots=True, eq=False)
class _Open:
    """A request that is not served yet. Shape: ``found`` what it could get, ``least`` how many it needs."""

    options: Sequence[RequestOption]
    found: int
    least: int


class LookAhead:
    """Looks ahead in one search. ``rules`` are those of the search."""

    def __init__(
        self,
        space: SearchSpace,
        rules: tuple[SearchRule, ...],
        sizes: Sequence[Sequence[int]],
        values: MatchValues,
    ) -> None:
        self._space = space
        self._rules = rules
        self._sizes = sizes
        self._values = values

    def may_serve(self, assignment: PartialAssignment, first: int) -> bool:
        """Whether the requests from number ``first`` on may be served."""
        open_requests = []
        for index in range(first, len(self._space.requests)):
            found, least = self._reachable(assignment, self._space.requests[index], self._sizes[index])
            if not least:
                return False
            open_requests.append(_Open(self._space.requests[index], found, least))
        by_rule: dict[int, list[_Open]] = {}
        for one in open_requests:
            for rule in _common_rules(one.options):
                by_rule.setdefault(rule, []).append(one)
        for number, bound in by_rule.items():
            if not self._may_meet(assignment, number, bound, first):
                return False
        return _are_enough(open_requests)

    def _may_meet(
        self, assignment: PartialAssignment, number: int, bound: Sequence[_Open], first: int
    ) -> bool:
        """Whether a rule may hold for the open requests that it binds. Removes devices they cannot get."""
        rule = self._rules[number]
        if isinstance(rule, SameScopeRule):
            return _narrow(rule, assignment.rules[number], number, bound)
        if not self._values.possible(assignment, number, rule, first):
            return False
        return self._has_values(assignment, number, [(one.found, one.least) for one in bound])

    def may_fill(self, assignment: PartialAssignment, option: RequestOption, devices: int, left: int) -> bool:
        """Whether each of an option's rules, taken alone, lets it get ``left`` of some devices."""
        return all(self._has_values(assignment, rule, [(devices, left)]) for rule, _ in option.rules)

    def _reachable(
        self, assignment: PartialAssignment, options: Sequence[RequestOption], sizes: Sequence[int]
    ) -> tuple[int, int]:
        """Return the devices that a request could get with some option, and how many it needs at least.

        Shape: a need of 0 where no option can be served.
        """
        found = least = 0
        for option, size in zip(options, sizes, strict=True):
            available = assignment.available(option)
            if 0 < size <= available.bit_count():
                found |= available
                least = min(least or size, size)
        return found, least

    def _has_values(
        self, assignment: PartialAssignment, number: int, wanted: Sequence[tuple[int, int]]
    ) -> bool:
        """Whether one value suffices for a match, or enough values are left for a distinctAttribute."""
        rule = self._rules[number]
        if isinstance(rule, MatchRule):
            state = assignment.rules[number]
            values = range(len(rule.values.holders)) if state == rule.start else positions(state)
            return any(
                all((found & rule.values.holders[value]).bit_count() >= least for found, least in wanted)
                for value in values
            )
        if isinstance(rule, DistinctRule):
            union = needed = 0
            for found, least in wanted:
                union, needed = union | found, needed + least
            holders = rule.values.holders
            left = sum(
                1
                for value, mask in enumerate(holders)
                if mask & union and not assignment.rules[number] >> value & 1
            )
            return left >= needed
        return True


def _common_rules(options: Sequence[RequestOption]) -> set[int]:
    """Return the rules that bind a request whichever alternative it gets."""
    common = {rule for rule, _ in options[0].rules}
    for option in options[1:]:
        common &= {rule for rule, _ in option.rules}
    return common


def _narrow(rule: SameScopeRule, state: State, number: int, bound: Sequence[_Open]) -> bool:
    """Restrict the open requests to scopes that every group has or can reach; False if those are too few."""
    scopes = [mask for mask, _ in state]
    for one in bound:
        for seat in {seat for option in one.options for other, seat in option.rules if other == number}:
            scopes[seat] |= rule.values.of_any(one.found)
    common = rule.reachable
    for mask in scopes:
        common &= mask
    if any(mask & ~common for mask, _ in state):
        return False
    devices = rule.values.union(common)
    for one in bound:
        one.found &= devices
        if one.found.bit_count() < one.least:
            return False
    return True


def _are_enough(open_requests: Sequence[_Open]) -> bool:
    """Whether requests with one and the same filter find enough devices together."""
    wanted: dict[int, tuple[int, int]] = {}
    for one in open_requests:
        option = one.options[0]
        if len(one.options) == 1 and not option.alternative.admin_access and not option.shares:
            devices, count = wanted.get(option.alternative.filter, (0, 0))
            wanted[option.alternative.filter] = devices | one.found, count + one.least
    return all(devices.bit_count() >= count for devices, count in wanted.values())
