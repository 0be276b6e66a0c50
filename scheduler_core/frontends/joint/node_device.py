"""Node devices: what a node offers of one device type, one entry per GPU or card, as the front ends choose.

A node device says where it stands and what it takes from the ledgers. ``TrialLedgers`` tries sets of node
devices on the ledgers of the pools, so everything that the core counts is counted here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler_core.books.ledger import Ledger
from scheduler_core.books.usage import Share
from scheduler_core.model.device import DeviceName
from scheduler_core.rules.scopes import Scope


@dataclass(frozen=True, slots=True)
class Take:
    """One device of a pool that a unit consists of. Shape: ``pool`` indexes the list of pools."""

    pool: int
    device: DeviceName
    share: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDevice:
    """A GPU, a NIC or another card.

    Shape: ``number`` is its minor, or its place among its like; ``pcie`` and ``numa`` where it stands, None
           where that is not known; ``is_touched`` while anybody has any part of it; ``takes`` is empty
           where it cannot be had; ``why`` then says why; ``score`` ranks units of equal place, high first;
           ``index`` is where whoever made the unit finds it again.
    """

    kind: str
    number: int
    pcie: Scope | None = None
    numa: Scope | None = None
    is_touched: bool = False
    takes: tuple[Take, ...] = ()
    why: str = ""
    score: int = 0
    index: int = 0
    given: Mapping[str, int] = field(default_factory=dict)

    @property
    def order(self) -> tuple[int, int]:
        """Return the rank among units that are otherwise equal."""
        return -self.score, self.number


class TrialLedgers:
    """The ledgers of a node's pools, on which units are tried out."""

    def __init__(self, ledgers: Sequence[Ledger], holder: str) -> None:
        self._ledgers = ledgers
        self._holder = holder

    def take(self, units: Iterable[NodeDevice]) -> bool:
        """Take all units, or none where they do not go together."""
        taken: list[NodeDevice] = []
        for unit in units:
            if not self._take(unit):
                self.give_back(taken)
                return False
            taken.append(unit)
        return True

    def give_back(self, units: Sequence[NodeDevice]) -> None:
        """Give units back, in any order."""
        for unit in units:
            for one in unit.takes:
                self._ledgers[one.pool].release(one.device, self._holder, one.share)

    def _take(self, unit: NodeDevice) -> bool:
        for done, one in enumerate(unit.takes):
            if not self._ledgers[one.pool].admits(one.device, one.share):
                for back in unit.takes[:done]:
                    self._ledgers[back.pool].release(back.device, self._holder, back.share)
                return False
            self._ledgers[one.pool].take(one.device, self._holder, one.share)
        return True
