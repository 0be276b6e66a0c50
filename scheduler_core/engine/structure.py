"""What decides which devices of a component exclude each other, free of names and units.

A *component* is a group of devices connected by what they are cut from or draw from; its devices have
*positions*, in listed order. Amounts are counted in the greatest step that divides all amounts of a
place, so that equal hardware has an equal structure whatever its units.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

Places = tuple[tuple[int, int], ...]
"""Pairs of place and amount. A *place* is one dimension of one source, by number."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The skeleton of a component.

    Shape: ``parents`` and ``draws`` have an entry per position; ``room`` has one per place.
    Units: ``draws`` and ``room`` in steps of the place; see ``scaled``.
    """

    parents: tuple[tuple[int, ...], ...]
    draws: tuple[Places, ...]
    room: tuple[int, ...]


def scaled(
    parents: tuple[tuple[int, ...], ...], draws: list[list[tuple[int, int]]], room: list[int]
) -> Structure:
    """Return the structure with the amounts of each place divided by what divides them all.

    What is drawn decides the step; room that is no multiple of it can never be used to the last.
    """
    steps = [0] * len(room)
    for places in draws:
        for place, amount in places:
            steps[place] = gcd(steps[place], amount)
    return Structure(
        parents=parents,
        draws=tuple(
            tuple((place, amount // (steps[place] or 1)) for place, amount in places) for places in draws
        ),
        room=tuple(amount // (step or 1) for amount, step in zip(room, steps, strict=True)),
    )
