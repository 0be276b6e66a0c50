"""Subproblems: alternatives and values of constraints are chosen, only devices are left to choose.

The first answer of a subproblem is the first in listed order, as a depth-first search would find it. Count
vectors say whether a partial answer can be completed, so a subproblem never goes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.solve.component_view import ComponentView

States = tuple[int, ...]
Picks = tuple[tuple[int, int], ...]
"""Per device wanted: the member and the position."""
Progress = Any
"""What a subproblem needs to know about the devices taken so far, besides the states. Hashable."""


class BeyondTables(Exception):
    """Count vectors cannot express what is asked. Shape: ``reason`` a sentence."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


TOO_MANY_COUNTS: Final = "the requests ask for too many different kinds of devices at once"


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A component in a subproblem.

    Shape: ``component`` its number on the node; ``ranks`` the place of each position in the node's list;
           ``group`` the number of its group.
    """

    component: int
    view: ComponentView
    ranks: tuple[int, ...]
    group: int

    def take(self, state: int, position: int) -> int:
        """Return the state once a free position is taken."""
        self.view.tables.free_after(state, position)
        return state | 1 << position


class Subproblem(Protocol):
    """A choice of alternatives and values for claims on a node, in which only devices are left to choose.

    Shape: ``members`` in the order of their first device; ``order`` has the column of each device wanted,
           in order: a *turn* is an index into it.
    """

    members: tuple[Member, ...]
    order: tuple[int, ...]

    def fits(self, states: States) -> bool:
        """Whether there is an answer. Raises: BeyondTables."""
        ...

    def first(self, states: States) -> Picks | None:
        """Return the first answer, None where there is none. Raises: BeyondTables."""
        ...

    def start(self) -> Progress:
        """Return the progress before the first device."""
        ...

    def candidates(self, states: States, turn: int, progress: Progress) -> Iterator[tuple[int, int]]:
        """Yield free devices in listed order, as member and position; of equal ones only the first."""
        ...

    def step(self, progress: Progress, turn: int, number: int) -> Progress:
        """Return the progress once a member gives the device of a turn."""
        ...

    def reaches(self, states: States, progress: Progress) -> bool:
        """Whether the devices still wanted can be had. Raises: BeyondTables."""
        ...


def after(subproblem: Subproblem, states: States, number: int, position: int) -> States:
    """Return the states once a free device of a member is taken."""
    taken = subproblem.members[number].take(states[number], position)
    return (*states[:number], taken, *states[number + 1 :])


def guided(subproblem: Subproblem, states: States) -> Picks:
    """Take the first device each time after which an answer is still possible. There must be an answer."""
    progress = subproblem.start()
    picks = []
    for turn in range(len(subproblem.order)):
        for number, position in subproblem.candidates(states, turn, progress):
            then, further = (
                after(subproblem, states, number, position),
                subproblem.step(progress, turn, number),
            )
            if subproblem.reaches(then, further):
                states, progress = then, further
                picks.append((number, position))
                break
        else:
            raise AssertionError("an answer that count vectors reach cannot be found")
    return tuple(picks)
