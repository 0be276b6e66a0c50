"""Which values a matchAttribute constraint can still have, according to the tables.

A value is possible where each open request of the constraint has enough devices with it. If all these devices
belong to one component, they must also fit into that component together.
"""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.search.options import RequestOption
from scheduler_core.engine.search.partial_assignment import PartialAssignment
from scheduler_core.engine.search.search_rules import MatchRule, SearchRule
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.engine.solve.component_view import ComponentView, Counts
from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.occupancy import OccupancyTables

NewView = Callable[[OccupancyTables, tuple[int, ...]], ComponentView]


@dataclass(frozen=True, slots=True)
class _Value:
    """How many of the devices with one value the open requests of a rule want.

    Shape: ``wanted`` pairs of devices and how many of them are needed; ``component`` the one that has them
           all, -1 where there are several; ``view`` and ``counts`` say whether they fit together there.
    """

    wanted: tuple[tuple[int, int], ...]
    component: int
    view: ComponentView | None
    counts: Counts


class MatchValues:
    """The values of the match rules of a search space. ``new_view`` returns views that all plans share."""

    def __init__(self, space: SearchSpace, new_view: NewView) -> None:
        self._space = space
        self._new_view = new_view
        self._known: dict[tuple[SearchRule, int, int], _Value | None] = {}

    def possible(self, assignment: PartialAssignment, number: int, rule: SearchRule, first: int) -> int:
        """Return the values that a rule can have for its requests from number ``first`` on, as a mask.

        All bits are set where nothing is known.
        """
        if not isinstance(rule, MatchRule):
            return -1
        state = assignment.rules[number]
        values = range(len(rule.values.holders)) if state == rule.start else positions(state)
        return mask_of(value for value in values if self._is_possible(assignment, number, rule, first, value))

    def devices(
        self, assignment: PartialAssignment, option: RequestOption, rules: tuple[SearchRule, ...], first: int
    ) -> int:
        """Return the devices with possible values of all match rules that bind an option."""
        found = -1
        for number, _ in option.rules:
            rule = rules[number]
            if isinstance(rule, MatchRule):
                found &= rule.values.union(self.possible(assignment, number, rule, first))
        return found

    def leaves_enough(
        self,
        assignment: PartialAssignment,
        option: RequestOption,
        rules: tuple[SearchRule, ...],
        device: int,
        following: int,
    ) -> bool:
        """Whether the requests from number ``following`` on still fit after a device is taken.

        It checks only rules whose requests must all be served by one component.
        """
        number, position = self._space.devices[device]
        state = assignment.states[number]
        for bound, _ in option.rules:
            rule = rules[bound]
            if not isinstance(rule, MatchRule) or rule.values.of[device].bit_count() != 1:
                continue
            known = self._value(bound, rule, following, rule.values.of[device].bit_length() - 1)
            if known is None:
                return False
            fits = known.view is None or known.component != number or not assignment.free >> device & 1
            if (
                not fits
                and known.view is not None
                and not known.view.fits_after(state, position, known.counts)
            ):
                return False
        return True

    def _value(self, number: int, rule: MatchRule, first: int, value: int) -> _Value | None:
        key = (rule, first, value)
        if key not in self._known:
            self._known[key] = self._made(number, rule, first, value)
        return self._known[key]

    def _is_possible(
        self, assignment: PartialAssignment, number: int, rule: MatchRule, first: int, value: int
    ) -> bool:
        known = self._value(number, rule, first, value)
        if known is None:
            return False
        free = assignment.free
        if any((devices & free).bit_count() < count for devices, count in known.wanted):
            return False
        return known.view is None or known.view.fits(assignment.states[known.component], known.counts)

    def _made(self, number: int, rule: MatchRule, first: int, value: int) -> _Value | None:
        """Return what is wanted of a value, None where some request has no device with it."""
        space, holders = self._space, rule.values.holders[value]
        wanted: list[tuple[int, int]] = []
        for options in space.requests[first:]:
            if not all(any(number == bound for bound, _ in option.rules) for option in options):
                continue
            devices = 0
            for option in options:
                devices |= option.chosen & holders
            if not devices:
                return None
            if all(_is_counted(option) for option in options) and not devices & space.shareable:
                wanted.append((devices, min(option.count or 0 for option in options)))
        union = 0
        for devices, _ in wanted:
            union |= devices
        components = {space.devices[device][0] for device in positions(union)}
        if len(components) != 1:
            return _Value(tuple(wanted), -1, None, ())
        (component,) = components
        columns: dict[int, int] = {}
        for devices, count in wanted:
            mask = mask_of(space.devices[device][1] for device in positions(devices))
            columns[mask] = columns.get(mask, 0) + count
        view = self._new_view(space.tables[component], tuple(columns))
        return _Value(tuple(wanted), component, view, tuple(columns.values()))


def _is_counted(option: RequestOption) -> bool:
    return option.count is not None and not option.alternative.admin_access
