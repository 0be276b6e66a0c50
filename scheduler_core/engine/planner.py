"""From a kind and a site to a plan: masks of selectors, values of constraints, columns of equal wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from scheduler_core.engine.case import Case, Group, Member
from scheduler_core.engine.cell import Cell
from scheduler_core.engine.effort import Effort
from scheduler_core.engine.kind import Choice, Kind
from scheduler_core.engine.plan import CASES, Plan, PlannedCase
from scheduler_core.engine.roster import Roster
from scheduler_core.engine.shape import Shape
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute

Masks = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a kind sees of a site.

    Shape: ``chosen`` has the masks of each component, one per set of selectors; ``values`` per rule and
           component the blocks of equal values (a number that stands for the value, and a mask).
    """

    chosen: tuple[Masks, ...]
    values: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]


class _Odd(Exception):
    """A combination that count vectors do not cover."""


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
                cases += self._cases(kind, roster, sight, choice, CASES - len(cases))
        except _Odd:
            return Plan(None)
        return Plan(cases)

    def _cases(
        self, kind: Kind, roster: Roster, sight: Sight, choice: Choice, most: int
    ) -> Iterator[PlannedCase]:
        rules = sorted({rule for want in choice.wants for rule in want.rules})
        matches = [rule for rule in rules if isinstance(kind.rules[rule], MatchAttribute)]
        distinct = [rule for rule in rules if isinstance(kind.rules[rule], DistinctAttribute)]
        if len(distinct) > 1:
            raise _Odd
        options = [_values_of(sight, rule) for rule in matches]
        for made, values in enumerate(product(*options)):
            if made >= most:
                raise _Odd
            settled = dict(zip(matches, values, strict=True))
            planned = self._case(roster, sight, choice, settled, distinct)
            if planned is not None:
                yield planned

    def _case(
        self, roster: Roster, sight: Sight, choice: Choice, settled: dict[int, int], distinct: Sequence[int]
    ) -> PlannedCase | None:
        """Return a case, None where some want has no candidates at all."""
        masks = [_masks(sight, choice, settled, distinct, number) for number in range(len(sight.chosen))]
        columns, order, limited = _columns(choice, masks, distinct)
        if not all(any(column) for column in columns):
            return None
        used = [number for number in range(len(masks)) if any(column[number] for column in columns)]
        groups, group_of = _groups(sight, columns, limited, used, distinct)
        members = tuple(
            Member(
                component=number,
                cell=self._cell(roster.templates[number].shape, tuple(column[number] for column in columns)),
                ranks=roster.ranks[number],
                group=group_of[index],
            )
            for index, number in enumerate(used)
        )
        floor = _floor(choice, members, order)
        case = Case(members, groups, order, limited, self._effort)
        return PlannedCase(choice, case, tuple(used), floor)

    def _cell(self, shape: Shape, masks: Masks) -> Cell:
        found = self._cells.get((shape, masks))
        if found is None:
            found = self._cells[shape, masks] = Cell(shape, masks, self._effort)
        return found


def _values_of(sight: Sight, rule: int) -> list[int]:
    """Return the values that a rule can settle on, in the order in which they are met."""
    return list(dict.fromkeys(value for blocks in sight.values[rule] for value, _ in blocks))


def _masks(
    sight: Sight, choice: Choice, settled: dict[int, int], distinct: Sequence[int], number: int
) -> Masks:
    """Return, per want, the positions of one component that its selectors and rules leave."""
    masks = []
    for want in choice.wants:
        mask = sight.chosen[number][want.selectors]
        for rule in want.rules:
            blocks = sight.values[rule][number]
            allowed = 0
            for value, block in blocks:
                if rule in distinct or value == settled[rule]:
                    allowed |= block
            mask &= allowed
        masks.append(mask)
    return tuple(masks)


def _columns(
    choice: Choice, masks: Sequence[Masks], distinct: Sequence[int]
) -> tuple[list[Masks], tuple[int, ...], tuple[bool, ...]]:
    """Join wants for which the same devices would do.

    Shape: the columns (masks by component); the column of each device wanted; which columns a distinct
           attribute limits.
    """
    columns: dict[tuple[Masks, bool], int] = {}
    order: list[int] = []
    for index, want in enumerate(choice.wants):
        is_limited = any(rule in distinct for rule in want.rules)
        key = (tuple(mask[index] for mask in masks), is_limited)
        column = columns.setdefault(key, len(columns))
        order += [column] * want.count
    return [key for key, _ in columns], tuple(order), tuple(is_limited for _, is_limited in columns)


def _groups(
    sight: Sight,
    columns: Sequence[Masks],
    limited: tuple[bool, ...],
    used: Sequence[int],
    distinct: Sequence[int],
) -> tuple[tuple[Group, ...], list[int]]:
    """Return the groups of components, and the group of each.

    A value that one device alone has limits nothing. Any other value must be the only one that a
    component offers for the limited columns, else count vectors do not cover the constraint.
    """
    shared = _shared_values(sight, columns, limited, distinct)
    members: dict[object, list[int]] = {}
    for index, number in enumerate(used):
        bound = _bound(columns, limited, number)
        mine = {
            value: block & bound
            for value, block in (sight.values[distinct[0]][number] if bound else ())
            if value in shared and block & bound
        }
        if len(mine) > 1 or any(block != bound for block in mine.values()):
            raise _Odd
        members.setdefault(next(iter(mine), ("free", index)), []).append(index)
    groups = tuple(Group(tuple(found), not isinstance(value, tuple)) for value, found in members.items())
    group_of = [0] * len(used)
    for group, found in enumerate(members.values()):
        for index in found:
            group_of[index] = group
    return groups, group_of


def _shared_values(
    sight: Sight, columns: Sequence[Masks], limited: tuple[bool, ...], distinct: Sequence[int]
) -> set[int]:
    """Return the values that two or more suitable devices have."""
    if not distinct:
        return set()
    counts: dict[int, int] = {}
    for number, blocks in enumerate(sight.values[distinct[0]]):
        bound = _bound(columns, limited, number)
        for value, block in blocks:
            counts[value] = counts.get(value, 0) + (block & bound).bit_count()
    return {value for value, count in counts.items() if count > 1}


def _bound(columns: Sequence[Masks], limited: tuple[bool, ...], number: int) -> int:
    bound = 0
    for column, is_limited in zip(columns, limited, strict=True):
        if is_limited:
            bound |= column[number]
    return bound


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
