"""Node devices: the GPUs and cards of a node, from which the front ends choose.

A node device has its place in the topology and the pool devices that it takes. ``TrialLedgers`` takes sets
of node devices on the ledgers of the pools, so the core's counting applies.
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
    """One pool device that a node device consists of. Shape: ``pool`` indexes the list of pools."""

    pool: int
    device: DeviceName
    share: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDevice:
    """A GPU, a NIC or another card.

    Shape: ``number`` is its minor, or its index among devices of its kind; ``pcie`` and ``numa`` are its
           scopes, None where unknown; ``is_touched`` where some part of it is in use; ``takes`` is empty
           where it is not free, and ``why`` is the reason; ``score`` ranks devices that are equally close,
           the highest first; ``index`` is the caller's own number for it; ``given`` are the amounts that it
           gives, by resource name.
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
        """Return the rank among devices that are otherwise equal."""
        return -self.score, self.number


class TrialLedgers:
    """The ledgers of a node's pools, for trying sets of node devices."""

    def __init__(self, ledgers: Sequence[Ledger], holder: str) -> None:
        self._ledgers = ledgers
        self._holder = holder

    def take(self, devices: Iterable[NodeDevice]) -> bool:
        """Take all devices, or none where they cannot be taken together."""
        taken: list[NodeDevice] = []
        for device in devices:
            if not self._take(device):
                self.give_back(taken)
                return False
            taken.append(device)
        return True

    def give_back(self, devices: Sequence[NodeDevice]) -> None:
        """Release devices, in any order."""
        for device in devices:
            for one in device.takes:
                self._ledgers[one.pool].release(one.device, self._holder, one.share)

    def _take(self, device: NodeDevice) -> bool:
        for done, one in enumerate(device.takes):
            if not self._ledgers[one.pool].admits(one.device, one.share):
                for back in device.takes[:done]:
                    self._ledgers[back.pool].release(back.device, self._holder, back.share)
                return False
            self._ledgers[one.pool].take(one.device, self._holder, one.share)
        return True
