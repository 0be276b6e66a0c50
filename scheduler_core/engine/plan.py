"""Plans: a kind of claim on a roster, prepared so that only the states are missing.

A plan has a case for every choice of alternatives and every value that the matchAttribute constraints can
settle on. Nodes that differ in serial numbers only share their plans: what counts is which values are
equal, not what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scheduler_core.engine.case import Case, Picks, TooIrregular
from scheduler_core.engine.kind import Choice
from scheduler_core.engine.roster import Site

CASES: Final = 512
"""How many values of constraints and alternatives are gone through before a claim counts as irregular."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedCase:
    """A case and what it answers.

    Shape: ``floor`` is under the key of every answer; ``components`` the numbers of its members.
    """

    choice: Choice
    case: Case
    components: tuple[int, ...]
    floor: tuple[int, ...]

    def key(self, picks: Picks) -> tuple[int, ...]:
        """Return what orders answers as a depth-first search meets them: option, devices, option, ..."""
        key: list[int] = []
        taken = iter(picks)
        for option, want in zip(self.choice.options, self.choice.wants, strict=True):
            key.append(option)
            for _ in range(want.count):
                member, position = next(taken)
                key.append(self.case.members[member].ranks[position])
        return tuple(key)


@dataclass(frozen=True, slots=True)
class Answer:
    """Devices for a kind. Shape: per device, in the order of the wants: component number, position."""

    choice: Choice
    picks: Picks


class Plan:
    """Shape: ``cases`` by floor; None where the site needs the plain search."""

    __slots__ = ("cases",)

    def __init__(self, cases: Sequence[PlannedCase] | None) -> None:
        self.cases = None if cases is None else tuple(sorted(cases, key=lambda planned: planned.floor))

    def fits(self, site: Site) -> bool:
        """Whether there is an answer. Raises: TooIrregular."""
        if self.cases is None:
            raise TooIrregular
        components = site.components
        return any(
            planned.case.fits(tuple([components[number].state for number in planned.components]))
            for planned in self.cases
        )

    def first(self, site: Site) -> Answer | None:
        """Return the first answer, None where there is none. Raises: TooIrregular."""
        if self.cases is None:
            raise TooIrregular
        best: tuple[tuple[int, ...], PlannedCase, Picks] | None = None
        for planned in self.cases:
            if best is not None and planned.floor > best[0]:
                break
            picks = planned.case.first(
                tuple([site.components[number].state for number in planned.components])
            )
            if picks is not None:
                key = planned.key(picks)
                if best is None or key < best[0]:
                    best = key, planned, picks
        if best is None:
            return None
        _, planned, picks = best
        return Answer(
            planned.choice, tuple((planned.components[member], position) for member, position in picks)
        )
