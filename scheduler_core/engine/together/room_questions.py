"""Asks the caller's room how many units a node takes beside devices. Everything taken is given back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from scheduler_core.engine.together.shapes import Shape
from scheduler_core.engine.together.values import Counts, GroupMember, Room
from scheduler_core.model.nodes import Node


@contextmanager
def on_trial(room: Room, node: Node, members: Sequence[GroupMember]) -> Iterator[int]:
    """Take members on a node until one is not admitted; give them back at the end.

    Shape: yields how many were taken.
    """
    taken: list[GroupMember] = []
    try:
        for member in members:
            if not room.admits(member, node):
                break
            room.take(member, node)
            taken.append(member)
        yield len(taken)
    finally:
        for member in reversed(taken):
            room.give(member, node)


def most_in_room(
    room: Room, node: Node, shapes: Sequence[Shape], counts: Counts, *, number: int, limit: int
) -> int:
    """Return how many units of the shape with a number a node takes beside counts that have none of it."""
    pairs = zip(shapes, counts, strict=True)
    first = [member for shape, count in pairs for unit in shape.units[:count] for member in unit.members]
    shape = shapes[number]
    more = [member for unit in shape.units[:limit] for member in unit.members]
    with on_trial(room, node, [*first, *more]) as taken:
        return max(0, taken - len(first)) // shape.weight
