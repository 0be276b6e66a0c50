"""Places the members of a group one after another on trial, all that are needed or none.

It is for groups with members that ask by amounts, which the core places pod by pod. It is not complete: a
choice for one member is never taken back for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set

from controller.decide.allocator import Allocator
from controller.decide.decisions import NotOurs, Placed, Served, Wrong
from controller.decide.question import Question
from controller.plan.plans import Placement, placement_of
from controller.run.groups.room import Against
from scheduler_core.state.assignments import holder_of

_NOTHING: Against = {}


def in_turn(
    allocator: Allocator,
    questions: Sequence[Question],
    minimum: int,
    against: Mapping[str, Against],
    reserved: Set[str],
) -> tuple[Placed, ...] | str:
    """Return what at least ``minimum`` members get, or one sentence that says why not.

    Shape: as ``decided_together``. Raises: CoreError for claims that are wrong.
    """
    uses = Counter(one.asked.ref for question in questions for one in question.wanted)
    shared = [str(ref) for ref, count in uses.items() if count > 1]
    if shared:
        return f"claim {shared[0]} is used by several members, and others of the group ask by amounts"
    trial = _Trial(allocator, against, reserved)
    try:
        for question in questions:
            trial.ask(question)
    finally:
        trial.give_back()
    if len(trial.placed) >= minimum:
        return tuple(trial.placed)
    number = f"of {len(questions)} members {minimum} are needed"
    return f"{number}, and one after another only {len(trial.placed)} of them fit{trial.problem}"


class _Trial:
    """What members were given so far, held for those after them."""

    def __init__(self, allocator: Allocator, against: Mapping[str, Against], reserved: Set[str]) -> None:
        self.placed: list[Placed] = []
        self.problem = ""
        self._allocator, self._against, self._reserved = allocator, against, reserved
        self._held: list[Placement] = []
        self._refused: set[Hashable] = set()  # devices only get fewer: who asks for the same is refused too

    def ask(self, question: Question) -> None:
        """Place a member if it fits beside those before it."""
        mine = self._against.get(question.pod.uid, _NOTHING)
        shape = (question.shape, tuple(sorted(mine.items())))
        if shape in self._refused:
            return
        decision = self._allocator.decide(question, mine, self._reserved)
        match decision:
            case Placed():
                self.placed.append(decision)
                self._held.append(_held(self._allocator, decision))
            case Served() | NotOurs():  # it needs nothing of ours: kube-scheduler chooses its node
                self.placed.append(Placed(question, "", None, (), "amounts"))
            case Wrong(why=why):
                self.problem = self.problem or f"; {question.pod.ref.name}: {why}"
                self._refused.add(shape)
            case _:
                self._refused.add(shape)

    def give_back(self) -> None:
        """Hold nothing any more."""
        for plan in self._held:
            _given_back(self._allocator, plan)


def _held(allocator: Allocator, decision: Placed) -> Placement:
    """Hold what a member gets, for the members after it."""
    plan = placement_of(decision)
    for one in plan.holds:
        allocator.seen.devices.hold(one)
    allocator.seen.assume(plan.pod, plan.node)
    return plan


def _given_back(allocator: Allocator, plan: Placement) -> None:
    for one in plan.holds:
        allocator.seen.devices.release(holder_of(one))
    allocator.seen.forget_assumed(plan.pod.uid)
