"""Asks which units get devices together on one node. The claims of all units of a node are one question.

So the engine tries every choice of devices for all of them. Answers are remembered for nodes that are alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeVar

from scheduler_core.base.effort import Effort
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.together.several_nodes import SeveralNodes
from scheduler_core.engine.together.shapes import Shape, Unit, claims_of, distinct, excludes
from scheduler_core.engine.together.values import Counts
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided

_Found = TypeVar("_Found")
_NEW_COUNTS: Final = 20
"""Steps that are counted for a count vector never asked about: the engine prepares its claims."""


class JointQuestions:
    """The questions about one group.

    Shape: ``undecided`` is the first question that was not answered, None where all were.
    """

    def __init__(self, engine: Engine, shapes: Sequence[Shape], effort: Effort) -> None:
        self.undecided: Undecided | None = None
        self._engine = engine
        self._shapes = shapes
        self._effort = effort
        self._several = SeveralNodes(engine.state)
        self._one_of_each = claims_of(shapes, (1,) * len(shapes))
        self._excludes = excludes(self._one_of_each)
        self._likeness: dict[str, Hashable] = {}
        self._most: dict[tuple[Hashable, Counts, int, int], int] = {}
        self._fits: dict[tuple[Hashable, Counts], bool] = {}
        self._claims: dict[Counts, tuple[Claim, ...]] = {}

    def most(self, node: Node, counts: Counts, shape: int, limit: int) -> int:
        """Return how many units of a shape fit beside counts that have none of it.

        Raises: EffortExceeded; otherwise as ``Engine.allocate``.
        """
        if not self._one_of_each:
            return limit
        key = (self.likeness(node), counts, shape, limit)
        found = self._most.get(key)
        if found is None:
            found = self._most[key] = self._searched(node, counts, shape, limit)
        return found

    def likeness(self, node: Node) -> Hashable:
        """Return a key that is equal for nodes on which the claims of the group fit alike."""
        found = self._likeness.get(node.name)
        if found is None:
            found = self._likeness[node.name] = self._engine.likeness(self._one_of_each, node)
        return found

    def allocation(self, nodes: Sequence[Node], units: Sequence[Unit]) -> Allocation | None:
        """Return the devices of some units on the node that the policy prefers among those that fit.

        None where the answer is not known. Raises: as ``Engine.allocate``.
        """
        members = [member for unit in units for member in unit.members]
        claims = distinct(members)
        if not claims:
            return Allocation(node=nodes[0].name, results={}, nodes={})
        if self._is_exclusive(units):
            by_claim = self._known(self._several.decide([(member, nodes[0]) for member in members]))
            return None if by_claim is None else _merged(nodes[0], by_claim)
        return self._known(self._engine.decide_somewhere(claims, nodes))

    def _searched(self, node: Node, counts: Counts, shape: int, limit: int) -> int:
        """Double the number while it fits, then halve the distance."""
        fits, fails = 0, limit + 1
        step = 1
        while fits + 1 < fails:
            tried = min(fits + step, fails - 1) if fails > limit else (fits + fails) // 2
            if self._fit(node, (*counts[:shape], tried, *counts[shape + 1 :])):
                fits, step = tried, step * 2
            else:
                fails = tried
        return fits

    def _fit(self, node: Node, counts: Counts) -> bool:
        key = (self.likeness(node), counts)
        found = self._fits.get(key)
        if found is None:
            found = self._fits[key] = self._asked(node, counts)
        return found

    def _asked(self, node: Node, counts: Counts) -> bool:
        claims = self._claims.get(counts)
        if claims is None:
            self._effort.step(_NEW_COUNTS)
            claims = self._claims[counts] = claims_of(self._shapes, counts)
        if not claims:
            return True
        steps = self._engine.effort.steps
        is_fit = self._known(self._engine.fits(claims, node)) is True
        self._effort.step(1 + self._engine.effort.steps - steps)
        pairs = zip(self._shapes, counts, strict=True)
        units = [unit for shape, count in pairs for unit in shape.units[:count]]
        if is_fit and self._is_exclusive(units):
            places = [(member, node) for unit in units for member in unit.members]
            before = self._several.steps
            is_fit = self._known(self._several.decide(places)) is not None
            self._effort.step(self._several.steps - before)
        return is_fit

    def _is_exclusive(self, units: Sequence[Unit]) -> bool:
        """Whether members keep each other out of scopes, which a joint question does not look at."""
        return self._excludes and sum(len(unit.members) for unit in units) > 1

    def _known(self, found: _Found | Undecided) -> _Found | None:
        if isinstance(found, Undecided):
            self.undecided = self.undecided or found
            return None
        return found


def _merged(node: Node, by_claim: Mapping[ClaimRef, Allocation]) -> Allocation:
    """Return the allocations of several claims on one node as one."""
    return Allocation(
        node=node.name,
        results={ref: one.results[ref] for ref, one in by_claim.items()},
        nodes={ref: one.nodes[ref] for ref, one in by_claim.items()},
        configs={ref: one.configs[ref] for ref, one in by_claim.items()},
    )
