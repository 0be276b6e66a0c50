"""Gives the arrivals of a simulation devices by an engine. Each holds them under a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.planning.simulation import Arrival
from scheduler_core.planning.trial_changes import Holdings, copy_ref
from scheduler_core.state.assignments import Holder


@dataclass(slots=True)
class EngineHolds:
    """Holds devices on the state of an engine.

    Shape: ``asks`` has the claims of each ask; they are allocated together, on one node; ``nodes`` are all
           nodes with their labels, in the order of trying; ``undecided`` counts questions at which the search
           reached its bound. These arrivals get no devices then.
    """

    engine: Engine
    asks: Sequence[Sequence[Claim]]
    nodes: Sequence[Node]
    undecided: int = 0
    _held: dict[int, tuple[Holder, ...]] = field(default_factory=dict)
    _holdings: Holdings = field(init=False)

    def __post_init__(self) -> None:
        self._holdings = Holdings(self.engine.state)

    def place(self, number: int, arrival: Arrival) -> Allocation | None:
        """Let the claims of an arrival hold devices; None where they do not fit.

        Raises: as ``Engine.allocate``.
        """
        claims = self.asks[arrival.ask]
        # labels matter only where some pool selects nodes by them; without such a pool the engine is fast
        # because it keeps which nodes fit
        nodes = self.nodes if self.engine.state.views.has_shared else None
        found = self.engine.decide_somewhere(claims, nodes)
        if isinstance(found, Undecided):
            self.undecided += 1
            return None
        if found is not None:
            self._held[number] = tuple([self._hold(number, claim, found) for claim in claims])
        return found

    def leave(self, number: int) -> None:
        """Give the devices of an arrival back."""
        for holder in self._held.pop(number):
            self.engine.state.release(holder)

    def _hold(self, number: int, claim: Claim, found: Allocation) -> Holder:
        name = copy_ref(claim.ref, number)
        self.engine.state.hold(self._holdings.of(claim, found, name))
        return name
