"""The structure of a component: everything that decides which of its devices exclude each other.

A *component* is a set of devices that are connected: one is cut from another, or both draw from the same
source. The devices of a component are numbered from 0, in listed order; these numbers are *positions*. A
*counter* is one dimension of one source; counters are numbered too. A structure has no names, and it has no
units: the amounts of a counter are divided by their greatest common divisor. So equal hardware has an equal
structure, whatever its devices are called and whatever unit its driver publishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from scheduler_core.base.features import Groups
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.tables.bits import mask_of

CounterAmounts = tuple[tuple[int, int], ...]
"""Pairs of the number of a counter and an amount."""
SourceMasks = tuple[tuple[int, int], ...]
"""Pairs of the number of a source and the compatibility groups there, as a mask."""
Declared = tuple[int, int, frozenset[str] | None]
"""One draw of a device: the source, the amounts (by number), and the compatibility groups declared for it."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The structure of a component. Equal structures have the same free devices in every state.

    Shape: ``parents``, ``draws`` and ``compatibility`` have one entry per position; ``compatibility`` is
           empty where no device declares a compatibility group; ``totals`` has one entry per counter.
    Units: ``draws`` and ``totals`` count the steps of their counter; see ``scaled``.
    """

    parents: tuple[tuple[int, ...], ...]
    draws: tuple[CounterAmounts, ...]
    totals: tuple[int, ...]
    compatibility: tuple[SourceMasks, ...] = ()


def scaled(
    parents: tuple[tuple[int, ...], ...],
    draws: list[list[tuple[int, int]]],
    totals: list[int],
    compatibility: tuple[SourceMasks, ...] = (),
) -> Structure:
    """Return the structure with the amounts of each counter divided by their greatest common divisor.

    Only drawn amounts decide the divisor. A total is rounded down: no devices can draw the remainder.
    """
    drawn: list[set[int]] = [set() for _ in totals]
    for mine in draws:
        for counter, amount in mine:
            drawn[counter].add(amount)
    steps = [gcd(*amounts) or 1 for amounts in drawn]
    # There are few different amounts, and they are large: divide each once, and share equal pairs.
    found = [
        {amount: (counter, amount // steps[counter]) for amount in some} for counter, some in enumerate(drawn)
    ]
    return Structure(
        parents=parents,
        draws=tuple([tuple([found[counter][amount] for counter, amount in mine]) for mine in draws]),
        totals=tuple([amount // step for amount, step in zip(totals, steps, strict=True)]),
        compatibility=compatibility,
    )


def compatibility_of(declared: Sequence[Sequence[Declared]], meaning: Groups) -> tuple[SourceMasks, ...]:
    """Return the compatibility groups of devices as masks, nothing where no device declares any.

    Shape: ``declared`` has the draws of each device. A device without groups gets no mask: it is
           compatible with every other. With ``meaning`` "kep-5963" it gets a group that all such devices
           of the source share.
    Source: rule S10 of docs/semantics.md.
    """
    if not any([groups for mine in declared for _, _, groups in mine]):
        return ()
    bits: dict[tuple[int, str | None], int] = {}
    found = []
    for mine in declared:
        masks: dict[int, int] = {}
        for source, _, groups in mine:
            names: Iterable[str | None] = sorted(groups) if groups else (None,)
            if groups or meaning == "kep-5963":
                mask = mask_of(bits.setdefault((source, name), len(bits)) for name in names)
                masks[source] = masks.get(source, mask) & mask
        found.append(tuple(masks.items()))
    return tuple(found)
