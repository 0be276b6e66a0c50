"""Packings: the ways to place some devices in one component, without those that can never be the best.

Two ways that end in the same state count as one. A way is left out where another leaves at least as many
parts of every kind: the other way is never dearer.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.policy.part_counts import Fit, PartCounts
from scheduler_core.engine.solve.component_view import ComponentView, counted, without
from scheduler_core.engine.solve.subproblem import Picks

_WIDTH: Final = 128  # states followed at a time: where there are more, only the first ones are


Losses = tuple[tuple[int, int], ...]
"""Pairs: the number of a part kind, and how many fewer of its parts fit. Only kinds that lose some."""


@dataclass(frozen=True, slots=True)
class Packing:
    """One way.

    Shape: ``positions`` has the device of each turn; ``of_one_member`` the same as picks of a subproblem with
           one member.
    """

    positions: tuple[int, ...]
    losses: Losses
    of_one_member: Picks


def lost(before: Fit, after: Fit) -> Losses:
    """Return how many fewer parts of each kind fit."""
    pairs = enumerate(zip(before, after, strict=True))
    return tuple([(number, was - now) for number, (was, now) in pairs if was != now])


def packings(
    view: ComponentView, part_counts: PartCounts, state: int, order: tuple[int, ...]
) -> tuple[Packing, ...]:
    """Return the ways to take one device of each column in ``order``, none where they do not fit together.

    Shape: ways with earlier devices come first.
    """
    before = part_counts.fit(state)
    best: list[tuple[Fit, Packing]] = []
    for end, chosen in _ends(view, state, order).items():
        after = part_counts.fit(end)
        if any(_is_under(after, other) for other, _ in best):
            continue
        best = [entry for entry in best if not _is_under(entry[0], after)]
        best.append(
            (after, Packing(chosen, lost(before, after), tuple([(0, position) for position in chosen])))
        )
    return tuple(packing for _, packing in best)


def _ends(view: ComponentView, state: int, order: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Return the states that such devices lead to, each with the first way to it."""
    counts = counted(order, len(view.masks))
    if not view.fits(state, counts):
        return {}
    ends: dict[int, tuple[int, ...]] = {state: ()}
    for column in order:
        counts = without(counts, column)
        further: dict[int, tuple[int, ...]] = {}
        for reached, chosen in ends.items():
            for position in view.choices(reached, column):
                then = reached | 1 << position
                if then not in further and view.fits_after(reached, position, counts):
                    further[then] = (*chosen, position)
            if len(further) >= _WIDTH:
                break
        ends = further
    return ends


def _is_under(one: Fit, other: Fit) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))
