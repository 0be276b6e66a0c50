"""Plans: a claim signature on a node, prepared so that only the states of the components are missing.

A plan has a subproblem for every choice of alternatives and every value that the matchAttribute constraints
can have. It depends on which values are equal, and not on the values. So nodes that differ only in serial
numbers share their plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.claim_signature import ChosenAlternatives
from scheduler_core.engine.solve.subproblem import Picks, Subproblem
from scheduler_core.tables.component import Component

_LIMIT: Final = 1 << 14  # answers kept per subproblem; then the cache is cleared


@dataclass(frozen=True, slots=True)
class Solution:
    """Devices for the claims of a signature.

    Shape: ``picks`` has, per device wanted, the number of the component on the node and the position;
           ``lead`` is the first option and the rank of the first device: answers are ordered by it.
    """

    choice: ChosenAlternatives
    picks: Picks
    lead: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedSubproblem:
    """A subproblem of a plan, with the answers it has given.

    Shape: ``floor`` is at most the lead of any answer; ``components`` are the numbers of its members;
           ``level`` is how close its answers are: the levels of the switches that its constraints demand.
    """

    choice: ChosenAlternatives
    subproblem: Subproblem
    components: tuple[int, ...]
    floor: tuple[int, ...]
    level: int = 0
    _known: dict[int, Solution | None] = field(default_factory=dict)

    def fits(self, components: Sequence[Component]) -> bool:
        """Whether there is an answer. Raises: BeyondTables."""
        return self.subproblem.fits(tuple([components[number].state for number in self.components]))

    def fits_states(self, states: Sequence[int]) -> bool:
        """Whether there is an answer in some states of the node's components. Raises: BeyondTables."""
        return self.subproblem.fits(tuple([states[number] for number in self.components]))

    def first(self, components: Sequence[Component]) -> Solution | None:
        """Return the first answer, None where there is none. Raises: BeyondTables."""
        if len(self.components) != 1:
            return self._first(tuple([components[number].state for number in self.components]))
        state = components[self.components[0]].state
        if state in self._known:
            return self._known[state]
        if len(self._known) >= _LIMIT:
            self._known.clear()
        found = self._known[state] = self._first((state,))
        return found

    def _first(self, states: tuple[int, ...]) -> Solution | None:
        found = self.subproblem.first(states)
        return None if found is None else self.answer(found)

    def answer(self, picks: Picks) -> Solution:
        """Return the answer that takes these devices of the members."""
        lead: tuple[int, ...] = ()
        if picks:
            member, position = picks[0]
            lead = (self.choice.options[0], self.subproblem.members[member].ranks[position])
        numbered = tuple([(self.components[member], position) for member, position in picks])
        return Solution(self.choice, numbered, lead)

    def key(self, answer: Solution) -> tuple[int, ...]:
        """Return a key that orders answers like a depth-first search: option, devices, option, ..."""
        ranks = {member.component: member.ranks for member in self.subproblem.members}
        key: list[int] = []
        taken = iter(answer.picks)
        for option, count in zip(self.choice.options, self.choice.counts, strict=True):
            key.append(option)
            for _ in range(count):
                number, position = next(taken)
                key.append(ranks[number][position])
        return tuple(key)


def preference(planned: PlannedSubproblem) -> tuple[tuple[int, ...], int]:
    """Return a key that is less for preferred alternatives, then for closer devices."""
    return planned.choice.options, -planned.level


class NodePlan:
    """The subproblems of a claim on a node.

    Shape: ``subproblems`` those with the first devices first; ``by_preference`` has them and ``closer``, the
           preferred alternatives first, of these the closest devices. What ``closer`` answers, some
           subproblem answers as well.
    """

    __slots__ = ("by_preference", "subproblems")

    def __init__(
        self, subproblems: Sequence[PlannedSubproblem], closer: Sequence[PlannedSubproblem] = ()
    ) -> None:
        self.subproblems = tuple(sorted(subproblems, key=lambda planned: planned.floor))
        every = (*self.subproblems, *sorted(closer, key=lambda planned: planned.floor))
        self.by_preference = tuple(sorted(every, key=preference))

    def fits(self, components: Sequence[Component]) -> bool:
        """Whether there is an answer. Raises: BeyondTables."""
        return any(planned.fits(components) for planned in self.subproblems)

    def fits_states(self, states: Sequence[int]) -> bool:
        """Whether there is an answer in some states of the node's components. Raises: BeyondTables."""
        return any(planned.fits_states(states) for planned in self.subproblems)

    def first(self, components: Sequence[Component]) -> Solution | None:
        """Return the first answer, None where there is none. Raises: BeyondTables."""
        best: tuple[Solution, PlannedSubproblem] | None = None
        for planned in self.subproblems:
            if best is not None and planned.floor > best[0].lead:
                break
            answer = planned.first(components)
            if answer is not None and (best is None or planned.key(answer) < best[1].key(best[0])):
                best = answer, planned
        return best[0] if best is not None else None
