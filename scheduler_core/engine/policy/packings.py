"""All ways to place some devices in one component that are worth choosing between.

Ways that end in the same state are one. Of the others, those are left out that use up no less than another
in every profile: no prices make them the better choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scheduler_core.engine.policy.part_counts import Fit, PartCounts
from scheduler_core.engine.solve.component_view import ComponentView, counted, without

_WIDTH: Final = 128  # states followed at a time: beyond, the first ones stand for the rest


Losses = tuple[tuple[int, int], ...]
"""How many parts fewer fit: profile of the stock, by number, and loss; only those that lose something."""


@dataclass(frozen=True, slots=True)
class Packing:
    """One way. Shape: positions in the order wanted."""

    positions: tuple[int, ...]
    losses: Losses


def lost(before: Fit, after: Fit) -> Losses:
    """Return what fits no more."""
    pairs = enumerate(zip(before, after, strict=True))
    return tuple([(number, was - now) for number, (was, now) in pairs if was != now])


def packings(
    view: ComponentView, part_counts: PartCounts, state: int, order: tuple[int, ...]
) -> tuple[Packing, ...]:
    """Return the ways to take devices of the columns in ``order``, none where they do not fit.

    Shape: first ways first.
    """
    before = part_counts.fit(state)
    best: list[tuple[Fit, Packing]] = []
    for end, chosen in _ends(view, state, order).items():
        after = part_counts.fit(end)
        if any(_is_under(after, other) for other, _ in best):
            continue
        best = [entry for entry in best if not _is_under(entry[0], after)]
        best.append((after, Packing(chosen, lost(before, after))))
    return tuple(packing for _, packing in best)


def _ends(view: ComponentView, state: int, order: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Return the states that devices of the columns can lead to, each with the first way there."""
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
