"""Rosters: what nodes with equal hardware have in common.

Two nodes with the same components, called and listed alike, have one roster; what differs between them
are serial numbers and what is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.engine.component import Component
from scheduler_core.engine.template import Layout, Template
from scheduler_core.model.nodes import Node

_POOL_STEP = 1 << 32  # more than any pool lists


@dataclass(frozen=True, slots=True, eq=False)
class Roster:
    """Shape: one entry per component of the node: its template, where its devices are listed among all of
    the node's (``ranks``), and the positions that the node may use.
    """

    templates: tuple[Template, ...]
    ranks: tuple[tuple[int, ...], ...]
    usable: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A node as the engine keeps it.

    Shape: ``components`` in the order of their first device; ``is_regular`` is False where the node is
           offered devices that the tables do not cover, ``is_complete`` where slices are missing.
    """

    node: Node
    roster: Roster
    components: tuple[Component, ...]
    is_regular: bool
    is_complete: bool


RosterKey = tuple[tuple[int, Template, Layout, int], ...]


def roster_of(key: RosterKey) -> Roster:
    """Return a new roster. Shape: pool number, template, layout, usable positions per component."""
    return Roster(
        templates=tuple(template for _, template, _, _ in key),
        ranks=tuple(
            tuple(pool * _POOL_STEP + place for place in layout.listed) for pool, _, layout, _ in key
        ),
        usable=tuple(usable for _, _, _, usable in key),
    )
