"""How many nodes of which kind to add so that all copies of a workload fit.

Copies are alike, so the fewest nodes are nodes of one kind. No fewer will do than the copies that cannot fit
in the cluster need on unused nodes, however they are placed. From there on one node more is added on trial at
a time, and all copies are placed as the policy places them, until all fit. Nodes on trial and questions to
the allocator are bounded; an answer says whether fewer nodes were ruled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.planning.node_kinds import NodeKind
from scheduler_core.planning.room import ClusterRoom, room_for
from scheduler_core.planning.trial_changes import TrialChanges
from scheduler_core.planning.workload import Placement, place

KINDS: Final = 8
"""Kinds of nodes that are tried."""
NODES: Final = 1000
"""Nodes that are added on trial."""
QUESTIONS: Final = 20_000
"""Questions to the allocator that one search may ask; the first trial of a kind may ask as many once more."""
_SINGLE_STEPS: Final = 8  # trials with one node more; then as many are added as the missing copies need


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Nodes of one kind to add.

    Shape: ``count`` nodes with which the policy places all copies, None where the search stopped before;
           fewer than ``at_least`` do not do; ``is_fewest`` whether ``count`` is the least number.
    """

    kind: str
    count: int | None
    at_least: int

    @property
    def is_fewest(self) -> bool:
        """Whether no fewer nodes of the kind do."""
        return self.count == self.at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What nodes to add.

    Shape: ``options`` the fewest nodes first, one for each kind that helps; ``is_complete`` False where the
           search did not try every kind, or could not decide about one.
    """

    options: tuple[Addition, ...]
    is_complete: bool


@dataclass(slots=True)
class AddingSearch:
    """The search for one workload under the policy of an engine.

    Shape: ``most`` how many copies fit as the cluster is, ``placed`` how many the policy places.
    """

    engine: Engine
    claims: Sequence[Claim]
    count: int
    nodes: Sequence[Node]
    most: ClusterRoom
    placed: int
    _left: int = field(default_factory=lambda: QUESTIONS)
    _is_complete: bool = True

    def run(self, kinds: Sequence[NodeKind]) -> Additions:
        """Return how many nodes of each kind to add. Raises: as ``Engine.allocate``."""
        self._is_complete = len(kinds) <= KINDS
        found = [one for one in map(self._of_kind, kinds[:KINDS]) if one is not None]
        found.sort(key=lambda one: (one.count is None, one.count or one.at_least))
        return Additions(options=tuple(found), is_complete=self._is_complete)

    def _of_kind(self, kind: NodeKind) -> Addition | None:
        """Return how many nodes of a kind to add, None where no number of them helps."""
        room = self._room_on(kind)
        if not room.count:
            self._is_complete = self._is_complete and room.is_exact
            return None
        missing = self.count - max(self.most.count, self.placed)
        first = max(1, -(-missing // room.count))
        is_proven = self.most.is_exact and room.is_exact
        number, at_least, trials = first, first if is_proven else 1, 0
        while number <= NODES and self._may_ask(trials):
            trials += 1
            placement = self._placed_with(kind, number)
            if placement.undecided is not None:
                break
            if placement.placed == self.count:
                return Addition(kind=kind.name, count=number, at_least=at_least)
            if number == at_least:
                at_least += 1
            further = -(-(self.count - placement.placed) // room.count)
            number += 1 if trials < _SINGLE_STEPS else further
        return Addition(kind=kind.name, count=None, at_least=at_least)

    def _may_ask(self, trials: int) -> bool:
        is_first = trials == 0 and self.count <= QUESTIONS
        return is_first or self.count <= self._left

    def _room_on(self, kind: NodeKind) -> ClusterRoom:
        """Return how many copies fit on an unused node of a kind."""
        with TrialChanges(self.engine.state) as trial:
            node, pools = kind.copy(1)
            trial.add(node, pools)
            return room_for(self.engine, self.claims, [node])

    def _placed_with(self, kind: NodeKind, number: int) -> Placement:
        """Return what the policy places once nodes of a kind have been added."""
        self._left -= self.count
        with TrialChanges(self.engine.state) as trial:
            added = []
            for one in range(number):
                node, pools = kind.copy(one + 1)
                trial.add(node, pools)
                added.append(node)
            return place(self.engine, trial, self.claims, self.count, (*self.nodes, *added))
