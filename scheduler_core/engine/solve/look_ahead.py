"""Looking ahead: can each request that is still open be served by itself, and do values suffice?

The answer "no" is certain; "yes" promises nothing. It spares the search the assignments below a point from
which some later request can get nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.engine.solve.partial_assignment import PartialAssignment
from scheduler_core.engine.solve.search_rules import DistinctRule, MatchRule, SearchRule
from scheduler_core.engine.solve.search_space import RequestOption, SearchSpace
from scheduler_core.tables.bits import positions


class LookAhead:
    """Looks ahead in one search. ``rules`` are those of the search."""

    def __init__(
        self, space: SearchSpace, rules: Sequence[SearchRule], sizes: Sequence[Sequence[int]]
    ) -> None:
        self._space = space
        self._rules = rules
        self._sizes = sizes

    def may_serve(self, assignment: PartialAssignment, first: int) -> bool:
        """Whether the requests from number ``first`` on may be served."""
        taken: dict[int, tuple[int, int]] = {}
        by_rule: dict[int, list[tuple[int, int]]] = {}
        for index in range(first, len(self._space.requests)):
            options = self._space.requests[index]
            found, least = self._reachable(assignment, options, self._sizes[index])
            if not least:
                return False
            if len(options) == 1 and not options[0].alternative.admin_access and not options[0].shares:
                number = options[0].alternative.filter
                mask, count = taken.get(number, (0, 0))
                taken[number] = mask | found, count + least
            for rule in _common_rules(options):
                by_rule.setdefault(rule, []).append((found, least))
        if any(mask.bit_count() < count for mask, count in taken.values()):
            return False
        return all(self._has_values(assignment, rule, wanted) for rule, wanted in by_rule.items())

    def may_fill(self, assignment: PartialAssignment, option: RequestOption, devices: int, left: int) -> bool:
        """Whether an option may get ``left`` of some devices under each of its rules."""
        return all(self._has_values(assignment, rule, [(devices, left)]) for rule, _ in option.rules)

    def _reachable(
        self, assignment: PartialAssignment, options: Sequence[RequestOption], sizes: Sequence[int]
    ) -> tuple[int, int]:
        """Return the devices that a request could get by some option, and how many it needs at least.

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
        """Whether one value can serve all of a match, or enough values are left for a distinctAttribute."""
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
