"""Columns: requests that the same devices suit are one column. Also the groups of a distinctAttribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import and_

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.claim_signature import ChosenAlternatives
from scheduler_core.engine.solve.counted import LimitedGroup
from scheduler_core.engine.solve.subproblem import BeyondTables

Masks = tuple[int, ...]
Blocks = tuple[tuple[int, int], ...]
"""Pairs of a number that stands for a value, and the positions with that value."""


@dataclass(frozen=True, slots=True)
class LowerSwitch:
    """A switch below another one. Shape: ``level`` 2 or more; ``below`` the positions of each component."""

    level: int
    below: Masks


@dataclass(frozen=True, slots=True)
class ClaimMatches:
    """The devices and values of a node that matter to a claim signature.

    Shape: ``chosen`` has the masks of each component, one per set of selectors; ``values`` has, per rule and
           component, the positions with equal values; rules on one attribute use the same numbers;
           ``nearer`` has, per rule that compares the topmost switch, the other switches of the node.
    """

    chosen: tuple[Masks, ...]
    values: tuple[tuple[Blocks, ...], ...]
    nearer: tuple[tuple[int, tuple[LowerSwitch, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """Shape: ``masks`` per column, by component; ``order`` the column of each device wanted; ``marks``
    distinguish columns with the same devices.
    """

    masks: tuple[Masks, ...]
    order: tuple[int, ...]
    marks: tuple[bool, ...]

    def used(self) -> list[int]:
        """Return the components that have devices for some column."""
        return [number for number, masks in enumerate(zip(*self.masks, strict=True)) if any(masks)]

    def marked(self, number: int) -> int:
        """Return the positions of a component that are in a marked column."""
        bound = 0
        for masks, is_marked in zip(self.masks, self.marks, strict=True):
            if is_marked:
                bound |= masks[number]
        return bound


def by_value(values: Sequence[Blocks]) -> dict[int, list[int]]:
    """Return the positions of each component that have a value, by value in the order of first use."""
    found: dict[int, list[int]] = {}
    for number, blocks in enumerate(values):
        for value, block in blocks:
            if value not in found:
                found[value] = [0] * len(values)
            found[value][number] |= block
    return found


def with_any(values: Sequence[Blocks]) -> list[int]:
    """Return the positions of each component that have some value."""
    return [sum([block for _, block in blocks]) for blocks in values]


def masks_of(
    matches: ClaimMatches, choice: ChosenAlternatives, allowed: Mapping[int, Sequence[int]]
) -> list[Masks]:
    """Return, per request, the positions of each component that its selectors and rules admit.

    Shape: ``allowed`` has, per rule, the positions of each component with the rule's value.
    """
    known: dict[tuple[int, tuple[int, ...]], Masks] = {}
    alternatives = []
    for alternative in choice.alternatives:
        key = (alternative.filter, alternative.rules)
        masks = known.get(key)
        if masks is None:
            masks = tuple([chosen[alternative.filter] for chosen in matches.chosen])
            for rule in alternative.rules:
                masks = tuple(map(and_, masks, allowed[rule]))
            known[key] = masks
        alternatives.append(masks)
    return alternatives


def columns_of(
    choice: ChosenAlternatives, alternatives: Sequence[Masks], marked: Sequence[bool]
) -> Columns | None:
    """Join requests that the same devices suit; None where some request has no suitable device.

    Shape: ``alternatives`` and ``marked`` have an entry per request; different marks are not joined.
    """
    if not all(map(any, alternatives)):
        return None
    columns: dict[tuple[Masks, bool], int] = {}
    order: list[int] = []
    for count, masks, is_marked in zip(choice.counts, alternatives, marked, strict=True):
        order += [columns.setdefault((masks, is_marked), len(columns))] * count
    return Columns(
        masks=tuple(masks for masks, _ in columns),
        order=tuple(order),
        marks=tuple(is_marked for _, is_marked in columns),
    )


def limited_groups(
    values: Sequence[Blocks], columns: Columns, used: Sequence[int]
) -> tuple[LimitedGroup, ...]:
    """Return the groups of components with equal values of a distinctAttribute, as indexes into ``used``.

    A value that only one device has limits nothing. A component with any other value must offer only
    that value in the marked columns.
    Raises: BeyondTables where it is not.
    """
    if not any(values):
        return tuple([LimitedGroup((index,), is_limited=False) for index in range(len(used))])
    shared = _shared_values(values, columns)
    members: dict[object, list[int]] = {}
    for index, number in enumerate(used):
        bound = columns.marked(number)
        mine = {value: block & bound for value, block in values[number] if value in shared and block & bound}
        if len(mine) > 1 or any(block != bound for block in mine.values()):
            raise BeyondTables("a component offers several values of a distinctAttribute")
        members.setdefault(next(iter(mine), ("free", index)), []).append(index)
    return tuple(LimitedGroup(tuple(found), not isinstance(value, tuple)) for value, found in members.items())


def _shared_values(values: Sequence[Blocks], columns: Columns) -> set[int]:
    """Return the values that two or more suitable devices have."""
    counts: dict[int, int] = {}
    for number, blocks in enumerate(values):
        bound = columns.marked(number)
        for value, block in blocks:
            counts[value] = counts.get(value, 0) + (block & bound).bit_count()
    return {value for value, count in counts.items() if count > 1}
