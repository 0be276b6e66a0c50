"""Makes plans: a subproblem for every choice of alternatives and every value of the match constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from scheduler_core.base.effort import Effort
from scheduler_core.engine.claims.claim_signature import ChosenAlternatives, ClaimSignature
from scheduler_core.engine.solve.bundled import LOOSE, BundledSubproblem
from scheduler_core.engine.solve.bundling import bundles_of, groups_by_value
from scheduler_core.engine.solve.columns import (
    Blocks,
    ClaimMatches,
    Columns,
    Masks,
    by_value,
    columns_of,
    limited_groups,
    masks_of,
    with_any,
)
from scheduler_core.engine.solve.component_view import ComponentView
from scheduler_core.engine.solve.counted import CountedSubproblem
from scheduler_core.engine.solve.coverage import Coverage, Covered, Uncovered
from scheduler_core.engine.solve.plan import NodePlan, PlannedSubproblem
from scheduler_core.engine.solve.subproblem import BeyondTables, Member
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute
from scheduler_core.state.node_class import NodeClass
from scheduler_core.tables.occupancy import OccupancyTables

MOST_SUBPROBLEMS: Final = 512
"""The most subproblems of a plan. A claim that would need more is not covered by the tables."""
_MOST_CLOSER: Final = 256  # combinations of switches of which the closest is preferred


class Planner:
    """Makes plans. Equal component views are one object in all plans."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._views: dict[tuple[OccupancyTables, Masks], ComponentView] = {}

    def plan(
        self,
        signature: ClaimSignature,
        node_class: NodeClass,
        seen: ClaimMatches,
        most: int = MOST_SUBPROBLEMS,
    ) -> Coverage:
        """Return the plan, or why count vectors do not cover the claim.

        Shape: the plan has at most ``most`` subproblems.
        """
        found: list[PlannedSubproblem] = []
        closer: list[PlannedSubproblem] = []
        try:
            for choice in signature.choices:
                found += self._subproblems(signature, node_class, seen, choice, most - len(found))
                closer += self._closer(signature, node_class, seen, choice) if seen.nearer else ()
        except BeyondTables as beyond:
            return Uncovered(beyond.reason)
        return Covered(NodePlan(found, closer))

    def _closer(
        self,
        signature: ClaimSignature,
        node_class: NodeClass,
        seen: ClaimMatches,
        choice: ChosenAlternatives,
    ) -> list[PlannedSubproblem]:
        """Return the subproblems in which devices that must share a tree of switches are closer than that.

        A matchAttribute on the topmost switch asks for closeness, and a tree may have more switches below it.
        Nothing is preferred where there would be many of these subproblems, or constraints of other kinds.
        """
        nearer = dict(seen.nearer)
        rules = sorted({rule for alternative in choice.alternatives for rule in alternative.rules})
        if not all(isinstance(signature.rules[rule], MatchAttribute) for rule in rules):
            return []
        options = [
            [*((one.level, one.below) for one in nearer.get(rule, ())), *_of_any_level(seen.values[rule])]
            for rule in rules
        ]
        if prod(map(len, options)) > _MOST_CLOSER:
            return []
        subproblems = []
        for settled in product(*options):
            level = sum(one for one, _ in settled)
            if not level:
                continue
            self._effort.step()
            allowed = {rule: below for rule, (_, below) in zip(rules, settled, strict=True)}
            alternatives = masks_of(seen, choice, allowed)
            try:
                planned = self._counted_subproblem(node_class, seen, choice, alternatives, ())
            except BeyondTables:
                return []
            if planned is not None:
                subproblems.append(replace(planned, level=level))
        return subproblems

    def _subproblems(
        self,
        signature: ClaimSignature,
        node_class: NodeClass,
        seen: ClaimMatches,
        choice: ChosenAlternatives,
        most: int,
    ) -> list[PlannedSubproblem]:
        rules = sorted({rule for alternative in choice.alternatives for rule in alternative.rules})
        match_rules = [rule for rule in rules if isinstance(signature.rules[rule], MatchAttribute)]
        distinct = [rule for rule in rules if isinstance(signature.rules[rule], DistinctAttribute)]
        if len(distinct) > 1:
            raise BeyondTables("several distinctAttribute constraints bind the requests")
        bundled = [] if distinct or len(match_rules) < 2 else _most_on_one_attribute(signature, match_rules)
        if bundled:
            try:
                return self._settled(node_class, seen, choice, match_rules, bundled=bundled, most=most)
            except BeyondTables:
                pass  # then make a subproblem for every value of every rule
        return self._settled(node_class, seen, choice, match_rules, distinct=distinct, most=most)

    def _settled(
        self,
        node_class: NodeClass,
        seen: ClaimMatches,
        choice: ChosenAlternatives,
        match_rules: Sequence[int],
        *,
        bundled: Sequence[int] = (),
        distinct: Sequence[int] = (),
        most: int,
    ) -> list[PlannedSubproblem]:
        """Return a subproblem for every combination of values that the rules without bundles can have."""
        rules = [rule for rule in match_rules if rule not in bundled]
        options = [by_value(seen.values[rule]) for rule in rules]
        fixed = {rule: with_any(seen.values[rule]) for rule in (*bundled, *distinct)}
        if prod(map(len, options)) > most:
            raise BeyondTables(f"the constraints allow more than {most} combinations of values")
        subproblems = []
        for settled in product(*[option.values() for option in options]):
            self._effort.step()
            alternatives = masks_of(seen, choice, fixed | dict(zip(rules, settled, strict=True)))
            if bundled:
                subproblems.append(self._bundled_subproblem(node_class, seen, choice, alternatives, bundled))
            else:
                subproblems.append(self._counted_subproblem(node_class, seen, choice, alternatives, distinct))
        return [subproblem for subproblem in subproblems if subproblem is not None]

    def _counted_subproblem(
        self,
        node_class: NodeClass,
        seen: ClaimMatches,
        choice: ChosenAlternatives,
        alternatives: Sequence[Masks],
        distinct: Sequence[int],
    ) -> PlannedSubproblem | None:
        """Return a subproblem, None where some request has no suitable device."""
        marked = [any(rule in distinct for rule in alternative.rules) for alternative in choice.alternatives]
        columns = columns_of(choice, alternatives, marked)
        if columns is None:
            return None
        used = columns.used()
        values = seen.values[distinct[0]] if distinct else ((),) * len(seen.chosen)
        groups = limited_groups(values, columns, used)
        members = self._members(node_class, columns, used, [group.members for group in groups])
        subproblem = CountedSubproblem(members, groups, columns.order, columns.marks, self._effort)
        return PlannedSubproblem(choice, subproblem, tuple(used), _floor(choice, members, columns.order))

    def _bundled_subproblem(
        self,
        node_class: NodeClass,
        seen: ClaimMatches,
        choice: ChosenAlternatives,
        alternatives: Sequence[Masks],
        bundled: Sequence[int],
    ) -> PlannedSubproblem | None:
        bundles = bundles_of(choice, bundled)
        columns = columns_of(choice, alternatives, [bundle != LOOSE for bundle in bundles])
        if columns is None:
            return None
        used = columns.used()
        groups, holding = groups_by_value(seen.values[bundled[0]], columns, used)
        members = self._members(node_class, columns, used, groups)
        owners = tuple(
            bundle for count, bundle in zip(choice.counts, bundles, strict=True) for _ in range(count)
        )
        subproblem = BundledSubproblem(
            members=members,
            order=columns.order,
            owners=owners,
            groups=groups,
            holding=holding,
            columns=len(columns.masks),
            effort=self._effort,
        )
        return PlannedSubproblem(choice, subproblem, tuple(used), _floor(choice, members, columns.order))

    def _members(
        self, node_class: NodeClass, columns: Columns, used: Sequence[int], groups: Sequence[Sequence[int]]
    ) -> tuple[Member, ...]:
        group_of = {index: number for number, found in enumerate(groups) for index in found}
        return tuple(
            Member(
                component=number,
                view=self.view(
                    node_class.templates[number].tables, tuple(mask[number] for mask in columns.masks)
                ),
                ranks=node_class.ranks[number],
                group=group_of[index],
            )
            for index, number in enumerate(used)
        )

    def view(self, tables: OccupancyTables, masks: Masks) -> ComponentView:
        """Return the view of a component with these positions per column: equal views are one object."""
        found = self._views.get((tables, masks))
        if found is None:
            found = self._views[tables, masks] = ComponentView(tables, masks, self._effort)
        return found


def _of_any_level(values: Sequence[Blocks]) -> Iterator[tuple[int, Masks]]:
    return ((0, tuple(masks)) for masks in by_value(values).values())


def _most_on_one_attribute(signature: ClaimSignature, rules: Sequence[int]) -> list[int]:
    """Return the rules on one attribute: the one that the most rules compare."""
    by_attribute: dict[str, list[int]] = {}
    for rule in rules:
        by_attribute.setdefault(signature.rules[rule].attribute, []).append(rule)
    return max(by_attribute.values(), key=len)


def _floor(choice: ChosenAlternatives, members: Sequence[Member], order: tuple[int, ...]) -> tuple[int, ...]:
    """Return a lower bound of the leads of all answers: the first option, and its first device."""
    if not order:
        return ()
    ranks = [
        member.ranks[(mask & -mask).bit_length() - 1]
        for member in members
        if (mask := member.view.masks[order[0]])
    ]
    return (choice.options[0], min(ranks))
