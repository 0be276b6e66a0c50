"""Places a group where nodes are independent: what one node gives takes nothing from another.

First each node offers some of the largest count vectors that it holds; where these do not suffice, all of
them. Nodes that hold the same are counted and not told apart, until the division is found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Final

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.together.chosen_nodes import Held, chosen_nodes
from scheduler_core.engine.together.frontier import Most, all_largest, some_largest
from scheduler_core.engine.together.joint_questions import JointQuestions
from scheduler_core.engine.together.kind_search import Kind, KindSearch
from scheduler_core.engine.together.room_questions import most_in_room
from scheduler_core.engine.together.shapes import shapes_of
from scheduler_core.engine.together.values import Counts, GroupMember, Placed, Room
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided

_QUICK: Final = 0.4
"""The part of the steps that the first look at the nodes may take."""


class Division:
    """The question about one group. What nodes hold is computed once for all attempts."""

    def __init__(
        self,
        engine: Engine,
        members: Sequence[GroupMember],
        room: Room,
        nodes: Sequence[Node],
        effort: Effort,
    ) -> None:
        self._members = members
        self._room = room
        self._nodes = nodes
        self._effort = effort
        self._shapes = shapes_of(members)
        self._wanted = tuple(len(shape.units) for shape in self._shapes)
        self._weights = tuple(shape.weight for shape in self._shapes)
        self._has_seen_all = True
        self._joint = JointQuestions(engine, self._shapes, effort)

    @property
    def undecided(self) -> Undecided | None:
        """Return the first question that was not answered, None where all were."""
        return self._joint.undecided

    def placed(self, slack: int) -> tuple[Placed, ...] | None:
        """Return a placement that leaves out at most ``slack`` members, None where there is none.

        Raises: EffortExceeded; otherwise as ``Engine.allocate``.
        """
        found = self._divided(self._quick_kinds, slack)
        if found is None and (len(self._shapes) > 1 or not self._has_seen_all):
            found = self._divided(self._kinds, slack)
        return found

    def nowhere(self) -> Iterator[GroupMember]:
        """Yield the members that fit on no node even alone. Raises: EffortExceeded."""
        alone = set()
        for number, shape in enumerate(self._shapes):
            none = (0,) * len(self._shapes)
            if not any(self._most(node, none, number, 1) for node in self._nodes):
                alone |= {member.id for unit in shape.units for member in unit.members}
        return (member for member in self._members if member.id in alone)

    def _divided(self, kinds: Mapping[Held, Sequence[Node]], slack: int) -> tuple[Placed, ...] | None:
        counted = [Kind(held, len(nodes)) for held, nodes in kinds.items()]
        uses = KindSearch(counted, self._weights, slack, self._effort).search(self._wanted)
        chosen = None if uses is None else chosen_nodes(uses, kinds, self._shapes, self._joint)
        if chosen is None:
            return None
        by_member = {
            member.id: (member, allocation)
            for units, allocation in chosen
            for unit in units
            for member in unit.members
        }
        pairs = (by_member[member.id] for member in self._members if member.id in by_member)
        return tuple(Placed(member, part_of(allocation, member)) for member, allocation in pairs)

    @cached_property
    def _quick_kinds(self) -> Mapping[Held, Sequence[Node]]:
        """Return nodes by some of what they hold: as many nodes as a part of the steps allows."""
        kinds: dict[Held, list[Node]] = {}
        try:
            with self._effort.within((self._effort.most - self._effort.steps) * _QUICK):
                self._look(kinds, some_largest)
        except EffortExceeded:
            self._has_seen_all = False
        return self._ordered(kinds)

    @cached_property
    def _kinds(self) -> Mapping[Held, Sequence[Node]]:
        kinds: dict[Held, list[Node]] = {}
        self._look(kinds, all_largest)
        return self._ordered(kinds)

    def _look(
        self, kinds: dict[Held, list[Node]], held_by: Callable[[Most, Counts], tuple[Counts, ...]]
    ) -> None:
        """Add the nodes by what they hold, those of which there are most of a kind first."""
        alike: dict[Hashable, list[Node]] = {}
        for node in self._nodes:
            alike.setdefault(self._joint.likeness(node), []).append(node)
        for nodes in sorted(alike.values(), key=len, reverse=True):
            for node in nodes:
                self._effort.step()
                held = held_by(partial(self._most, node), self._wanted)
                if any(map(any, held)):
                    kinds.setdefault(held, []).append(node)

    def _ordered(self, kinds: Mapping[Held, Sequence[Node]]) -> Mapping[Held, Sequence[Node]]:
        """Return the kinds, those that hold the most members first."""
        return {held: kinds[held] for held in sorted(kinds, key=self._size, reverse=True)}

    def _most(self, node: Node, counts: Counts, shape: int, limit: int) -> int:
        in_devices = self._joint.most(node, counts, shape, limit)
        if not in_devices:
            return 0
        return most_in_room(self._room, node, self._shapes, counts, number=shape, limit=in_devices)

    def _size(self, held: Held) -> int:
        return max(
            sum(weight * count for weight, count in zip(self._weights, counts, strict=True))
            for counts in held
        )


def part_of(allocation: Allocation, member: GroupMember) -> Allocation:
    """Return the part of an allocation that is the member's."""
    refs = [claim.ref for claim in member.claims]
    return Allocation(
        node=allocation.node,
        results={ref: allocation.results[ref] for ref in refs},
        nodes={ref: allocation.nodes[ref] for ref in refs},
        configs={ref: allocation.configs[ref] for ref in refs if ref in allocation.configs},
    )
