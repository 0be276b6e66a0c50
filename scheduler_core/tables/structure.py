"""What decides which devices of a component exclude each other, free of names and units.

A *component* is a group of devices connected by what they are cut from or draw from; its devices have
*positions*, in listed order. Amounts are counted in the greatest step that divides all amounts of a
place, so that equal hardware has an equal structure whatever its units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from scheduler_core.base.features import Groups
from scheduler_core.tables.bits import mask_of

Places = tuple[tuple[int, int], ...]
"""Pairs of place and amount. A *place* is one dimension of one source, by number."""
Declared = tuple[int, int, frozenset[str] | None]


@dataclass(frozen=True, slots=True)
class Structure:
    """The skeleton of a component.

    Shape: ``parents``, ``draws`` and ``modes`` have an entry per position; ``room`` has one per place.
           ``modes`` are pairs of a source and the modes of it in which the device can be used, as the bits
           of an integer: all devices in use of a source must have one in common.
    Units: ``draws`` and ``room`` in steps of the place; see ``scaled``.
    """

    parents: tuple[tuple[int, ...], ...]
    draws: tuple[Places, ...]
    room: tuple[int, ...]
    modes: tuple[Places, ...] = ()


def scaled(
    parents: tuple[tuple[int, ...], ...],
    draws: list[list[tuple[int, int]]],
    room: list[int],
    modes: tuple[Places, ...] = (),
) -> Structure:
    """Return the structure with the amounts of each place divided by what divides them all.

    What is drawn decides the step; room that is no multiple of it can never be used to the last.
    """
    drawn: list[set[int]] = [set() for _ in room]
    for mine in draws:
        for place, amount in mine:
            drawn[place].add(amount)
    steps = [gcd(*amounts) or 1 for amounts in drawn]
    # Amounts are large numbers and few: each is divided once, and draws that are equal are one object.
    found = [{amount: (place, amount // steps[place]) for amount in some} for place, some in enumerate(drawn)]
    return Structure(
        parents=parents,
        draws=tuple([tuple([found[place][amount] for place, amount in mine]) for mine in draws]),
        room=tuple([amount // step for amount, step in zip(room, steps, strict=True)]),
        modes=modes,
    )


def modes_of(declared: Sequence[Sequence[Declared]], meaning: Groups) -> tuple[Places, ...]:
    """Return the modes of devices, empty where none declares a compatibility group.

    Shape: ``declared`` has, per device, its sources, each with the number of what it draws there and the
           groups that it declares. A device that declares none can be used in any mode; as KEP-5963 has it,
           in a mode of its own only.
    Source: rule S10 of docs/semantics.md.
    """
    if not any([groups for mine in declared for _, _, groups in mine]):
        return ()
    bits: dict[tuple[int, str | None], int] = {}
    found = []
    for mine in declared:
        modes: dict[int, int] = {}
        for source, _, groups in mine:
            names: Iterable[str | None] = sorted(groups) if groups else (None,)
            if groups or meaning == "kep-5963":
                mask = mask_of(bits.setdefault((source, name), len(bits)) for name in names)
                modes[source] = modes.get(source, mask) & mask
        found.append(tuple(modes.items()))
    return tuple(found)
