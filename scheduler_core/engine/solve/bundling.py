"""Finds the bundles of a choice, and the groups of components from which a bundle can come."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.engine.claims.claim_signature import ChosenAlternatives
from scheduler_core.engine.solve.bundled import LOOSE
from scheduler_core.engine.solve.columns import Blocks, Columns
from scheduler_core.engine.solve.subproblem import BeyondTables


def bundles_of(choice: ChosenAlternatives, rules: Sequence[int]) -> list[int]:
    """Return the bundle of each request, LOOSE for requests that no rule ties to another device.

    Rules that bind the same request have one value: their devices are one bundle.
    """
    leader = {rule: rule for rule in rules}

    def find(rule: int) -> int:
        while leader[rule] != rule:
            rule = leader[rule]
        return rule

    bound = [[rule for rule in alternative.rules if rule in leader] for alternative in choice.alternatives]
    for mine in bound:
        for rule in mine[1:]:
            leader[find(rule)] = find(mine[0])
    sizes: dict[int, int] = {}
    for count, mine in zip(choice.counts, bound, strict=True):
        if mine:
            sizes[find(mine[0])] = sizes.get(find(mine[0]), 0) + count
    numbers = {rule: number for number, rule in enumerate(rule for rule, size in sizes.items() if size > 1)}
    return [numbers.get(find(mine[0]), LOOSE) if mine else LOOSE for mine in bound]


def groups_by_value(
    values: Sequence[Blocks], columns: Columns, used: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Return groups of the components used, as indexes into ``used``, and how many of them can hold bundles.

    Marked columns are those of bundles. Components that have devices of marked columns and the same value
    are a group. Each other component is a group of its own, which cannot hold a bundle.
    Raises: BeyondTables where a component offers several values for a bundle.
    """
    holding: dict[int, list[int]] = {}
    others: list[tuple[int, ...]] = []
    for index, number in enumerate(used):
        bound = columns.marked(number)
        if not bound:
            others.append((index,))
            continue
        mine = [value for value, block in values[number] if block & bound]
        if len(mine) != 1:
            raise BeyondTables(
                "a component offers several values of an attribute that several constraints match"
            )
        holding.setdefault(mine[0], []).append(index)
    return (*map(tuple, holding.values()), *others), len(holding)
