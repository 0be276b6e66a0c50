"""The room of a GPU, and its fragmentation: what is lost by where the held devices are.

The *room* of a GPU is, for each profile that it offers, the number of memory slices that claims for this
profile alone could still get, added up over the profiles. ``best`` is the room were the same held devices at
the best places of this GPU. Fragmentation is ``1 - now / best``: 0 where moving held devices on their GPU
makes no room, so also for an empty GPU and for one that is full wherever its devices are
(docs/decisions/0107-fragmentation.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.base.effort import Effort
from scheduler_core.engine.policy.packings import packings
from scheduler_core.engine.policy.part_counts import PartCounts, PartKind
from scheduler_core.engine.solve.component_view import ComponentView
from scheduler_core.frontends.occupancy.values import GpuRoom
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables

LIMIT: Final = 1 << 15
"""Answers that are kept; then the table is cleared."""
Masks = tuple[int, ...]
_Question = tuple[OccupancyTables, Masks, Masks, Masks, int]


class Rooms:
    """Counts what fits, and keeps the answers: equal GPUs in equal states are counted once."""

    def __init__(self) -> None:
        self._counts: dict[tuple[OccupancyTables, Masks], PartCounts] = {}
        self._rooms: dict[_Question, GpuRoom] = {}

    def fits(self, tables: OccupancyTables, kinds: Masks, state: int) -> tuple[int, ...]:
        """Return how many devices of each kind fit in a state, if no other kind is taken."""
        return self._part_counts(tables, kinds).fit(state)

    def room(
        self, tables: OccupancyTables, offered: Mapping[int, int], held: Sequence[int], state: int
    ) -> GpuRoom:
        """Return the room of the devices of one GPU in a component.

        Shape: ``offered`` has the memory slices of one device by the mask of its kind, without devices that
               nobody could get; ``held`` the masks of all devices by kind, of the GPU alone.
        """
        kinds = tuple(offered)
        key = (tables, kinds, tuple(offered.values()), tuple(held), state)
        found = self._rooms.get(key)
        if found is None:
            if len(self._rooms) >= LIMIT:
                self._rooms.clear()
                self._counts.clear()  # of structures that may be gone
            found = self._rooms[key] = self._counted(*key)
        return found

    def _counted(
        self, tables: OccupancyTables, kinds: Masks, sizes: Sequence[int], columns: Masks, state: int
    ) -> GpuRoom:
        counts = self._part_counts(tables, kinds)
        now = _room(counts.fit(state), sizes)
        order = tuple(column for column, mask in enumerate(columns) for _ in positions(state & mask))
        rest = state
        for mask in columns:
            rest &= ~mask
        before = counts.fit(rest)
        view = ComponentView(tables, columns, Effort())
        best = now
        for packing in packings(view, counts, rest, order) if order else ():
            lost = dict(packing.losses)
            after = tuple(count - lost.get(number, 0) for number, count in enumerate(before))
            best = max(best, _room(after, sizes))
        return GpuRoom(now, best)

    def _part_counts(self, tables: OccupancyTables, kinds: Masks) -> PartCounts:
        found = self._counts.get((tables, kinds))
        if found is None:
            part_kinds = tuple(PartKind((number,), mask, 0.0) for number, mask in enumerate(kinds))
            found = self._counts[tables, kinds] = PartCounts(tables, part_kinds, Effort())
        return found


def _room(fits: Sequence[int], sizes: Sequence[int]) -> int:
    return sum(count * size for count, size in zip(fits, sizes, strict=True))


def total(rooms: Sequence[GpuRoom]) -> GpuRoom | None:
    """Return the room of several GPUs; None of none."""
    if not rooms:
        return None
    return GpuRoom(sum(one.now for one in rooms), sum(one.best for one in rooms))
