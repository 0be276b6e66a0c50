"""From a kind and what it sees of a site to a plan: a case for every choice and every settled value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Final

from scheduler_core.base.effort import Effort
from scheduler_core.engine.claims.claim_signature import Choice, Kind
from scheduler_core.engine.cluster.node_class import Roster
from scheduler_core.engine.solve.bundled import LOOSE, BundledCase
from scheduler_core.engine.solve.bundling import bundles_of, groups_by_value
from scheduler_core.engine.solve.columns import (
    Columns,
    Masks,
    Odd,
    Sight,
    by_value,
    columns_of,
    limited_groups,
    masks_of,
    with_any,
)
from scheduler_core.engine.solve.component_view import Cell
from scheduler_core.engine.solve.counted import PlainCase
from scheduler_core.engine.solve.plan import Plan, PlannedCase
from scheduler_core.engine.solve.subproblem import Member
from scheduler_core.engine.tables.occupancy import Shape
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute

_CASES: Final = 512
"""How many values of constraints and alternatives are gone through before a claim counts as irregular."""


class Planner:
    """Makes plans. Equal cells are one object, in all plans."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._cells: dict[tuple[Shape, Masks], Cell] = {}

    def plan(self, kind: Kind, roster: Roster, sight: Sight) -> Plan:
        """Return the plan."""
        cases: list[PlannedCase] = []
        try:
            for choice in kind.choices:
                cases += self._cases(kind, roster, sight, choice, _CASES - len(cases))
        except Odd:
            return Plan(None)
        return Plan(cases)

    def _cases(
        self, kind: Kind, roster: Roster, sight: Sight, choice: Choice, most: int
    ) -> list[PlannedCase]:
        rules = sorted({rule for want in choice.wants for rule in want.rules})
        matches = [rule for rule in rules if isinstance(kind.rules[rule], MatchAttribute)]
        distinct = [rule for rule in rules if isinstance(kind.rules[rule], DistinctAttribute)]
        if len(distinct) > 1:
            raise Odd
        bundled = [] if distinct or len(matches) < 2 else _most_on_one_attribute(kind, matches)
        if bundled:
            try:
                return self._settled(roster, sight, choice, matches, bundled=bundled, most=most)
            except Odd:
                pass  # then every value of every rule is gone through
        return self._settled(roster, sight, choice, matches, distinct=distinct, most=most)

    def _settled(
        self,
        roster: Roster,
        sight: Sight,
        choice: Choice,
        matches: Sequence[int],
        *,
        bundled: Sequence[int] = (),
        distinct: Sequence[int] = (),
        most: int,
    ) -> list[PlannedCase]:
        """Return a case for every combination of values that the rules not bundled can settle on."""
        rules = [rule for rule in matches if rule not in bundled]
        options = [by_value(sight.values[rule]) for rule in rules]
        fixed = {rule: with_any(sight.values[rule]) for rule in (*bundled, *distinct)}
        if prod(map(len, options)) > most:
            raise Odd
        cases = []
        for settled in product(*[option.values() for option in options]):
            wants = masks_of(sight, choice, fixed | dict(zip(rules, settled, strict=True)))
            if bundled:
                cases.append(self._bundled_case(roster, sight, choice, wants, bundled))
            else:
                cases.append(self._plain_case(roster, sight, choice, wants, distinct))
        return [case for case in cases if case is not None]

    def _plain_case(
        self, roster: Roster, sight: Sight, choice: Choice, wants: Sequence[Masks], distinct: Sequence[int]
    ) -> PlannedCase | None:
        """Return a case, None where some want has no candidates at all."""
        marked = [any(rule in distinct for rule in want.rules) for want in choice.wants]
        columns = columns_of(choice, wants, marked)
        if columns is None:
            return None
        used = columns.used()
        values = sight.values[distinct[0]] if distinct else ((),) * len(sight.chosen)
        groups = limited_groups(values, columns, used)
        members = self._members(roster, columns, used, [group.members for group in groups])
        case = PlainCase(members, groups, columns.order, columns.marks, self._effort)
        return PlannedCase(choice, case, tuple(used), _floor(choice, members, columns.order))

    def _bundled_case(
        self, roster: Roster, sight: Sight, choice: Choice, wants: Sequence[Masks], bundled: Sequence[int]
    ) -> PlannedCase | None:
        bundles = bundles_of(choice, bundled)
        columns = columns_of(choice, wants, [bundle != LOOSE for bundle in bundles])
        if columns is None:
            return None
        used = columns.used()
        groups, holding = groups_by_value(sight.values[bundled[0]], columns, used)
        members = self._members(roster, columns, used, groups)
        owners = tuple(
            bundle for count, bundle in zip(choice.counts, bundles, strict=True) for _ in range(count)
        )
        case = BundledCase(
            members=members,
            order=columns.order,
            owners=owners,
            groups=groups,
            holding=holding,
            columns=len(columns.masks),
            effort=self._effort,
        )
        return PlannedCase(choice, case, tuple(used), _floor(choice, members, columns.order))

    def _members(
        self, roster: Roster, columns: Columns, used: Sequence[int], groups: Sequence[Sequence[int]]
    ) -> tuple[Member, ...]:
        group_of = {index: number for number, found in enumerate(groups) for index in found}
        return tuple(
            Member(
                component=number,
                cell=self._cell(
                    roster.templates[number].shape, tuple(mask[number] for mask in columns.masks)
                ),
                ranks=roster.ranks[number],
                group=group_of[index],
            )
            for index, number in enumerate(used)
        )

    def _cell(self, shape: Shape, masks: Masks) -> Cell:
        found = self._cells.get((shape, masks))
        if found is None:
            found = self._cells[shape, masks] = Cell(shape, masks, self._effort)
        return found


def _most_on_one_attribute(kind: Kind, rules: Sequence[int]) -> list[int]:
    """Return the rules on the attribute that most of them are about."""
    by_attribute: dict[str, list[int]] = {}
    for rule in rules:
        by_attribute.setdefault(kind.rules[rule].attribute, []).append(rule)
    return max(by_attribute.values(), key=len)


def _floor(choice: Choice, members: Sequence[Member], order: tuple[int, ...]) -> tuple[int, ...]:
    """Return a key that no answer is under: the first option, and its first device."""
    if not order:
        return ()
    ranks = [
        member.ranks[(mask & -mask).bit_length() - 1]
        for member in members
        if (mask := member.cell.masks[order[0]])
    ]
    return (choice.options[0], min(ranks))
