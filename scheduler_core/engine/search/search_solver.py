"""The solver for claims that the tables do not cover. It prepares and runs backtracking searches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Final, NoReturn

from scheduler_core.base.effort import Effort
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.claim_signature import chosen_of
from scheduler_core.engine.claims.selector_cache import SelectorCache, fail
from scheduler_core.engine.search.backtracking import BacktrackingSearch, MayFit
from scheduler_core.engine.search.exclusive_scopes import admitted_devices, reserved_devices
from scheduler_core.engine.search.match_values import MatchValues
from scheduler_core.engine.search.neighbour_conflicts import Conflicting, NeighbourConflicts
from scheduler_core.engine.search.options import Picked, RequestOption
from scheduler_core.engine.search.partial_assignment import Conflicts, PartialAssignment
from scheduler_core.engine.search.search_keys import SearchKeys
from scheduler_core.engine.search.search_rules import FixedRule, SearchRule
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.engine.solve.plan import Solution
from scheduler_core.model.claim import AllocatedClaim, ExclusiveScope
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import CompiledPool

_EVERYTHING: Final = FixedRule(-1)
_LIMIT: Final = 1 << 12  # answers kept per search space; then they are cleared
_POOLS: Final = 1 << 10  # pools whose conflicts are kept


@dataclass(frozen=True, slots=True)
class Situation:
    """What a search space needs to know about the devices in use on a node.

    Shape: ``fixed`` the rules that depend on the devices in use; ``blocked`` devices that no request may
           get; ``conflicts`` devices that conflict with one in use; ``conflicts_of`` returns those of one
           more device.
    """

    fixed: Mapping[int, FixedRule]
    blocked: int
    conflicts: int
    conflicts_of: Conflicts | None


@dataclass(slots=True, eq=False)
class PreparedSearch:
    """A search space and its results. Shape: ``answers`` found so far, by the devices in use."""

    space: SearchSpace
    values: MatchValues
    answers: dict[Hashable, Picked | None] = field(default_factory=dict)
    _keys: dict[Hashable, SearchKeys] = field(default_factory=dict)

    def keys(self, rules: tuple[SearchRule, ...], *, is_fixed: bool) -> SearchKeys:
        """Return the maker of keys of partial assignments under some rules."""
        key = (tuple(rule for rule in rules if not isinstance(rule, FixedRule)), is_fixed)
        found = self._keys.get(key)
        if found is None:
            found = self._keys[key] = SearchKeys(self.space, rules, is_fixed=is_fixed)
        return found


class SearchSolver:
    """Solves claims on nodes by backtracking."""

    def __init__(self, selector_cache: SelectorCache, effort: Effort) -> None:
        self._selector_cache = selector_cache
        self._effort = effort
        self._conflicts: dict[CompiledPool, NeighbourConflicts] = {}

    def solve(
        self,
        prepared: PreparedSearch,
        node_view: NodeView,
        holders: Callable[[], Sequence[AllocatedClaim]],
        may_fit: MayFit,
    ) -> Solution | None:
        """Return the first answer, None where there is none.

        Shape: ``holders`` gives the claims that hold devices of the node's pools; ``may_fit`` returns
               False only where there is no answer; it is called only after the first failure.
        Raises: SelectorError where a selector fails on a device for which it is evaluated; EffortExceeded.
        """
        space = prepared.space
        situation = self._situation(space, node_view, holders)
        key = (
            tuple([one.state for one in node_view.components]),
            tuple([tuple(sorted(one.consumed.items())) for one in node_view.components])
            if space.shareable
            else (),
            (
                situation.blocked,
                tuple([rule.devices for rule in situation.fixed.values()]),
                situation.conflicts,
            ),
            node_view.is_complete,
        )
        if key in prepared.answers:
            picked = prepared.answers[key]
        else:
            picked = self._searched(prepared, node_view, situation, may_fit)
            if len(prepared.answers) >= _LIMIT:
                prepared.answers.clear()
            prepared.answers[key] = picked
        return None if picked is None else _answer(space, picked)

    def free(
        self, space: SearchSpace, node_view: NodeView, holders: Callable[[], Sequence[AllocatedClaim]]
    ) -> tuple[int, ...]:
        """Return, per request, the devices that its first alternative could get now, constraints aside."""
        situation = self._situation(space, node_view, holders)
        assignment = PartialAssignment(
            space,
            node_view.components,
            (),
            blocked=situation.blocked,
            conflicts=situation.conflicts,
            conflicts_of=None,
        )
        return tuple([assignment.available(replace(options[0], rules=())) for options in space.requests])

    def _situation(
        self, space: SearchSpace, node_view: NodeView, holders: Callable[[], Sequence[AllocatedClaim]]
    ) -> Situation:
        blocked = reserved_devices(holders(), node_view, space.to_devices) if node_view.is_sealed else 0
        in_use, conflicts_of = self._neighbours(space, node_view)
        return Situation(dict(self._exclusive(space, node_view)), blocked, in_use, conflicts_of)

    def _searched(
        self, prepared: PreparedSearch, node_view: NodeView, situation: Situation, may_fit: MayFit
    ) -> Picked | None:
        """Return the first answer with the most preferred scopes that are possible together.

        A rule that prefers scopes gets the first one with which the claims fit; earlier rules come first. If
        none of its scopes is possible, the rule is dropped. Where a selector fails on some device, this tries
        every combination, as the plain search does, so that it evaluates the same devices.
        """
        space = prepared.space
        if space.fails:
            return self._one_by_one(prepared, node_view, situation, may_fit)
        levels = {rule: space.levels(rule) for rule in space.preferred}
        picked = self._at(prepared, node_view, situation, levels, may_fit)
        if picked is None:
            return None
        for rule in space.preferred:
            for level in range(space.levels(rule)):
                found = self._at(prepared, node_view, situation, levels | {rule: level}, may_fit)
                if found is not None:
                    picked, levels = found, levels | {rule: level}
                    break
        return picked

    def _one_by_one(
        self, prepared: PreparedSearch, node_view: NodeView, situation: Situation, may_fit: MayFit
    ) -> Picked | None:
        space = prepared.space
        for levels in product(*(range(space.levels(rule) + 1) for rule in space.preferred)):
            at = dict(zip(space.preferred, levels, strict=True))
            picked = self._at(prepared, node_view, situation, at, may_fit)
            if picked is not None:
                return picked
        return None

    def _at(
        self,
        prepared: PreparedSearch,
        node_view: NodeView,
        situation: Situation,
        levels: Mapping[int, int],
        may_fit: MayFit,
    ) -> Picked | None:
        """Return the first answer with some preferred scopes."""
        self._effort.step()
        space = prepared.space
        rules = tuple(_rules(space, situation, levels))
        assignment = PartialAssignment(
            space,
            node_view.components,
            rules,
            blocked=situation.blocked,
            conflicts=situation.conflicts,
            conflicts_of=situation.conflicts_of,
        )
        search = BacktrackingSearch(
            space,
            rules,
            assignment,
            is_complete=node_view.is_complete,
            is_fixed=node_view.judges,
            effort=self._effort,
            may_fit=may_fit,
            fail=_failing(space, node_view),
            values=prepared.values,
            keys=lambda: prepared.keys(rules, is_fixed=node_view.judges or space.fails),
        )
        return search.first()

    def _exclusive(self, space: SearchSpace, node_view: NodeView) -> Iterator[tuple[int, FixedRule]]:
        for number in space.exclusive:
            constraint = space.signature.rules[number]
            assert isinstance(constraint, ExclusiveScope)
            yield number, FixedRule(admitted_devices(constraint, node_view, space.to_devices))

    def _neighbours(self, space: SearchSpace, node_view: NodeView) -> tuple[int, Conflicts | None]:
        """Return the devices that conflict with those in use, and what returns those of one device."""
        judging = {
            component: self._judged(pool)
            for pool in (node_view.pools if node_view.judges else ())
            for component in pool.components
        }
        numbers = {component: number for number, component in enumerate(node_view.components)}

        def to_devices(conflicting: Conflicting) -> int:
            found = 0
            for component, mask in conflicting.items():
                if component in numbers:
                    found |= space.to_devices(numbers[component], mask)
            return found

        def conflicts_of(device: int) -> int:
            number, position = space.devices[device]
            component = node_view.components[number]
            return to_devices(judging[component].of(component, position))

        if not judging:
            return 0, None
        in_use = 0
        for conflicts in dict.fromkeys(judging.values()):
            in_use |= to_devices(conflicts.with_what_is_in_use())
        return in_use, conflicts_of

    def _judged(self, pool: CompiledPool) -> NeighbourConflicts:
        found = self._conflicts.get(pool)
        if found is None:
            if len(self._conflicts) >= _POOLS:
                self._conflicts.clear()
            found = self._conflicts[pool] = NeighbourConflicts(pool, self._selector_cache)
        return found


def _rules(space: SearchSpace, situation: Situation, levels: Mapping[int, int]) -> Iterator[SearchRule]:
    """Yield the rules; a rule that prefers scopes at its level."""
    for number, rule in enumerate(space.rules):
        if number in levels:
            rule = space.prefer_rule(number, levels[number])  # noqa: PLW2901 - the rule of that level
        yield rule or situation.fixed.get(number) or _EVERYTHING


def _failing(space: SearchSpace, node_view: NodeView) -> Callable[[RequestOption, int], NoReturn]:
    def raising(option: RequestOption, device: int) -> NoReturn:
        number, position = space.devices[device]
        wanted = space.signature.filters[option.alternative.filter]
        fail(wanted.selectors, wanted.capacity, node_view.components[number], position)

    return raising


def _answer(space: SearchSpace, picked: Picked) -> Solution:
    alternatives = tuple(
        options[option].alternative for options, option in zip(space.requests, picked.options, strict=True)
    )
    choice = chosen_of(picked.options, alternatives, [len(devices) for devices in picked.devices])
    picks = tuple(space.devices[device] for devices in picked.devices for device in devices)
    return Solution(choice, picks, ())
