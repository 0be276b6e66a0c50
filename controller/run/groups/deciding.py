"""Decides about the members of a group together: devices for at least the minimum of them, or none.

Takes their questions; returns a decision for each that gets devices. Nothing is held afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from controller.decide.allocator import Allocator
from controller.decide.decisions import Placed
from controller.decide.question import Question
from controller.run.groups.room import Against, GroupRoom, needs_of
from controller.run.groups.trial import in_turn
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.together.decide import decide_together
from scheduler_core.engine.together.values import GroupMember, Unfit
from scheduler_core.engine.together.values import Placed as Given
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.result import Undecided

_NOTHING: Against = {}


@dataclass(frozen=True, slots=True)
class NoPlace:
    """The group gets nothing. Shape: ``nowhere`` is a member that fits on no node even alone, else None."""

    why: str
    nowhere: Question | None = None


def decided_together(
    allocator: Allocator,
    questions: Sequence[Question],
    minimum: int,
    against: Mapping[str, Against],
    reserved: Set[str] = frozenset(),
) -> tuple[Placed, ...] | NoPlace:
    """Return what at least ``minimum`` members get, or why too few of them get anything.

    Shape: ``against`` are, by the UID of a pod, the nodes that will not do for it; ``reserved`` are nodes
           that are held back for other pods. A claim of several members is in the first one's decision only.
    """
    try:
        if _is_foreign(allocator, questions):
            return NoPlace("no device of a node that the controller owns matches the claims")
        if any(one.amounts is not None for one in questions):
            placed = in_turn(allocator, questions, minimum, against, reserved)
            return placed if isinstance(placed, tuple) else NoPlace(placed)
        return _searched(allocator, questions, minimum, against, reserved)
    except CoreError as error:
        return NoPlace(str(error))


def _is_foreign(allocator: Allocator, questions: Sequence[Question]) -> bool:
    """Whether the members ask for devices, and for none of ours."""
    if any(one.amounts is not None or one.fixed or allocator.ours(one) for one in questions):
        return False
    return any(one.wanted for one in questions)


def _searched(
    allocator: Allocator,
    questions: Sequence[Question],
    minimum: int,
    against: Mapping[str, Against],
    reserved: Set[str],
) -> tuple[Placed, ...] | NoPlace:
    by_name = {one.pod.ref.name: one for one in questions}
    asked = {name: (one, against.get(one.pod.uid, _NOTHING)) for name, one in by_name.items()}
    rooms = allocator.seen.rooms
    members = [
        GroupMember(
            id=name,
            claims=tuple(wanted.asked for wanted in allocator.ours(one)),
            needs=needs_of(one, nodes, rooms),
        )
        for name, (one, nodes) in asked.items()
    ]
    room = GroupRoom(allocator.candidates, rooms, asked, reserved)
    views = allocator.seen.devices.views
    nodes = [node for node in map(views.node, views.names) if any(room.admits(one, node) for one in members)]
    found = decide_together(allocator.engine, members, room, nodes, minimum=minimum)
    match found:
        case Undecided():
            return NoPlace(str(found))
        case Unfit():
            return NoPlace(str(found), by_name[found.nowhere[0].id] if found.nowhere else None)
        case _:
            return _placed(allocator, by_name, found)


def _placed(
    allocator: Allocator, by_name: Mapping[str, Question], found: Sequence[Given]
) -> tuple[Placed, ...]:
    """Return the decisions about single pods. Each claim is written once."""
    placed: list[Placed] = []
    written: set[ClaimRef] = set()
    for one in found:
        question = by_name[one.member.id]
        mine = tuple(claim for claim in allocator.ours(question) if claim.asked.ref not in written)
        refs = {claim.asked.ref for claim in mine}
        written |= refs
        results = {ref: given for ref, given in one.allocation.results.items() if ref in refs}
        answer = allocator.written(replace(one.allocation, results=results)) if mine else None
        placed.append(Placed(question, one.allocation.node, answer, mine, "together"))
    return tuple(placed)
