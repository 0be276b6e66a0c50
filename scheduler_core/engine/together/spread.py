"""Places members one after the other, and goes back, where nodes are not independent.

That is so where several nodes may use one device. After each member the claims of all members placed so far
are one question, so every choice of devices is tried for every choice of nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.engine.claims.claim_signature import content
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.together.several_nodes import Places, SeveralNodes
from scheduler_core.engine.together.shapes import distinct, sharing
from scheduler_core.engine.together.values import GroupMember, Placed, Room
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided

_DEEPEST: Final = 300
"""The most members that are placed like this: the search calls itself for each of them."""
_Found = TypeVar("_Found")


class SpreadSearch:
    """A search for one group. Shape: ``undecided`` is the first question that was not answered."""

    def __init__(
        self,
        engine: Engine,
        members: Sequence[GroupMember],
        room: Room,
        nodes: Sequence[Node],
        effort: Effort,
    ) -> None:
        self.undecided: Undecided | None = None
        self._engine = engine
        self._room = room
        self._nodes = nodes
        self._effort = effort
        self._several = SeveralNodes(engine.state)
        self._sets = sharing(members)
        self._order = [member for one in self._sets for member in one]
        self._numbers = {member.id: number for number, member in enumerate(members)}
        self._keys = [_key(member, self._order) for member in self._order]
        self._set_at = {id(one[0]): len(one) for one in self._sets}
        self._at: list[int | None] = []
        self._allocated: Mapping[ClaimRef, Allocation] = {}

    def placed(self, slack: int) -> tuple[Placed, ...] | None:
        """Return a placement that leaves out at most ``slack`` members, None where there is none.

        Raises: EffortExceeded; otherwise as ``Engine.allocate``.
        """
        if len(self._order) > _DEEPEST:
            raise EffortExceeded(_DEEPEST)
        self._allocated = {}
        found = self._next(slack)
        if found is None:
            return None
        ordered = sorted(found, key=lambda place: self._numbers[place[0].id])
        return tuple(Placed(member, self._part(member, node)) for member, node in ordered)

    def nowhere(self) -> Iterator[GroupMember]:
        """Yield the members that fit on no node even alone."""
        for member in sorted(self._order, key=lambda one: self._numbers[one.id]):
            if not any(self._fits_alone(member, node) for node in self._nodes):
                yield member

    def _fits_alone(self, member: GroupMember, node: Node) -> bool:
        if not self._room.admits(member, node):
            return False
        return not member.claims or self._known(self._engine.fits(member.claims, node)) is True

    def _part(self, member: GroupMember, node: Node) -> Allocation:
        refs = [claim.ref for claim in member.claims]
        return Allocation(
            node=node.name,
            results={ref: self._allocated[ref].results[ref] for ref in refs},
            nodes={ref: self._allocated[ref].nodes[ref] for ref in refs},
            configs={ref: self._allocated[ref].configs[ref] for ref in refs},
        )

    def _next(self, slack: int) -> Places | None:
        number = len(self._at)
        if number == len(self._order):
            return self._places()
        self._effort.step()
        is_like_last = number > 0 and self._keys[number] == self._keys[number - 1]
        last = self._at[-1] if is_like_last else 0
        if last is not None:
            for index in range(last, len(self._nodes)):
                found = self._tried(index, slack)
                if found is not None:
                    return found
        size = self._set_at.get(id(self._order[number]), 0)
        if not 0 < size <= slack:
            return None
        self._at += [None] * size
        try:
            return self._next(slack - size)
        finally:
            del self._at[-size:]

    def _tried(self, index: int, slack: int) -> Places | None:
        member, node = self._order[len(self._at)], self._nodes[index]
        if not self._room.admits(member, node):
            return None
        self._room.take(member, node)
        self._at.append(index)
        try:
            return self._next(slack) if self._fits(node) else None
        finally:
            self._at.pop()
            self._room.give(member, node)

    def _fits(self, node: Node) -> bool:
        """Whether the claims of all members placed so far fit. First this node is asked by itself."""
        places = self._places()
        here = [member for member, place in places if place is node]
        mine = distinct(here)
        steps = self._engine.effort.steps
        is_fit = not mine or self._known(self._engine.fits(mine, node)) is True
        self._effort.step(1 + self._engine.effort.steps - steps)
        if not is_fit:
            return False
        before = self._several.steps
        found = self._known(self._several.decide(places))
        self._effort.step(self._several.steps - before)
        if found is None:
            return False
        self._allocated = found
        return True

    def _places(self) -> list[tuple[GroupMember, Node]]:
        pairs = zip(self._order, self._at, strict=False)
        return [(member, self._nodes[index]) for member, index in pairs if index is not None]

    def _known(self, found: _Found | Undecided) -> _Found | None:
        if isinstance(found, Undecided):
            self.undecided = self.undecided or found
            return None
        return found


def _key(member: GroupMember, members: Sequence[GroupMember]) -> Hashable:
    """Return a key that is equal for interchangeable members."""
    users = {claim.ref: 0 for claim in member.claims}
    for one in members:
        for claim in one.claims:
            if claim.ref in users:
                users[claim.ref] += 1
    own = [claim for claim in member.claims if users[claim.ref] == 1]
    shared = frozenset(ref for ref, count in users.items() if count > 1)
    return content(own), shared, member.needs
