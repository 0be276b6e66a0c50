"""Gives the members of a group devices together or not at all.

The members are divided among nodes, and all claims of one node are one question to the engine: so every
choice of nodes is combined with every choice of devices. Nothing is held, neither devices nor room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.together.division import Division
from scheduler_core.engine.together.shapes import distinct
from scheduler_core.engine.together.spread import SpreadSearch
from scheduler_core.engine.together.values import GroupMember, Placed, Room, Unfit
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided

GROUP: Final = 8_000
"""Steps that the question about one group may take: about a quarter of a second."""
_ALL: Final = 0.25
_MINIMUM: Final = 0.5
"""The parts of the steps for all members, and for the minimum; what is left is for numbers in between."""


class _Question(Protocol):
    """A way to place a group."""

    @property
    def undecided(self) -> Undecided | None:
        """Return the first question that was not answered, None where all were."""
        ...

    def placed(self, slack: int) -> tuple[Placed, ...] | None:
        """Return a placement that leaves out at most ``slack`` members. Raises: EffortExceeded."""
        ...

    def nowhere(self) -> Iterator[GroupMember]:
        """Yield the members that fit on no node even alone. Raises: EffortExceeded."""
        ...


def decide_together(
    engine: Engine,
    members: Sequence[GroupMember],
    room: Room,
    nodes: Sequence[Node] | None = None,
    *,
    minimum: int | None = None,
    most: int = GROUP,
) -> tuple[Placed, ...] | Undecided | Unfit:
    """Return nodes and devices for as many members as fit, at least ``minimum`` (None: all).

    Shape: in the order of the members; fewer than fit only where a search reached its bound. Of equal members
           the first ones are placed. Members that use a claim together, directly or over others, are placed
           together or not at all. Few nodes are preferred, then what the engine's policy prefers. ``nodes``
           None asks all nodes that own a pool; ``most`` bounds the steps.
    Raises: as ``Engine.allocate``; ValueError for a minimum that is negative or more than the members.
    """
    needed = len(members) if minimum is None else minimum
    if not 0 <= needed <= len(members):
        raise ValueError(f"minimum is {needed}, and the group has {len(members)} members")
    views = engine.state.views
    known = [views.node(name) for name in views.names] if nodes is None else nodes
    effort = Effort(most=most)
    question: _Question
    if engine.may_share(distinct(members), known):
        question = SpreadSearch(engine, members, room, known, effort)
    else:
        question = Division(engine, members, room, known, effort)
    attempts = _Attempts(question, effort, len(members) - needed, f"{len(known)} nodes")
    found = attempts.best()
    if found is not None:
        return found
    undecided = question.undecided or attempts.undecided
    return undecided or Unfit(len(members), needed, attempts.nowhere())


class _Attempts:
    """Attempts to place the group with ever fewer members left out.

    Shape: ``undecided`` says that an attempt reached its bound on steps, None where none did.
    """

    def __init__(self, question: _Question, effort: Effort, slack: int, where: str) -> None:
        self.undecided: Undecided | None = None
        self._question = question
        self._effort = effort
        self._slack = slack
        self._where = where

    def best(self) -> tuple[Placed, ...] | None:
        """Return a placement of as many members as fit, None where too few fit."""
        most = self._effort.most
        if self._slack == 0:
            return self._try(0, most)
        found = self._try(0, most * _ALL)
        if found is not None:
            return found
        found = self._try(self._slack, most * _MINIMUM)
        fails, fits = 0, self._slack
        while found is not None and fails + 1 < fits:
            middle = (fails + fits) // 2
            better = self._try(middle, most * (1 - _ALL - _MINIMUM) / self._slack.bit_length())
            if better is None:
                fails = middle
            else:
                found, fits = better, middle
        return found

    def nowhere(self) -> tuple[GroupMember, ...]:
        """Return the members that fit on no node even alone, none where that takes too many steps."""
        try:
            return tuple(self._question.nowhere())
        except EffortExceeded:
            return ()

    def _try(self, slack: int, steps: float) -> tuple[Placed, ...] | None:
        try:
            with self._effort.within(steps):
                return self._question.placed(slack)
        except EffortExceeded as exceeded:
            why = "the search over nodes reached its bound"
            self.undecided = Undecided(node=self._where, steps=int(exceeded.limit), why=why)
            return None
