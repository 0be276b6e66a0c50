"""Counted subproblems: so many devices of each column, from these components.

From a *limited group* of components at most one device may be taken: the group is all components with one
value of a ``distinctAttribute``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.base.effort import Effort
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.solve.component_view import ComponentView, Counts, counted, without
from scheduler_core.engine.solve.count_vectors import LARGEST, NOTHING, VectorSpace, size_of, space_of
from scheduler_core.engine.solve.subproblem import (
    TOO_MANY_COUNTS,
    BeyondTables,
    Member,
    Picks,
    Progress,
    States,
    guided,
)

_LIMIT: Final = 1 << 14  # answers kept per subproblem; then the cache is cleared


@dataclass(frozen=True, slots=True)
class LimitedGroup:
    """Components from which at most one device of the limited columns may be taken, if ``is_limited``."""

    members: tuple[int, ...]
    is_limited: bool


class CountedSubproblem:
    """A subproblem whose devices do not depend on each other, except in limited groups.

    Shape: ``limited`` says which columns count in limited groups. The progress is the counts still
           wanted, and the groups already used as a mask.
    """

    __slots__ = ("_effort", "_memo", "counts", "groups", "limited", "members", "order")

    def __init__(
        self,
        members: tuple[Member, ...],
        groups: tuple[LimitedGroup, ...],
        order: tuple[int, ...],
        limited: tuple[bool, ...],
        effort: Effort,
    ) -> None:
        self.members = members
        self.groups = groups
        self.order = order
        self.limited = limited
        self.counts = counted(order, len(limited))
        self._effort = effort
        self._memo: dict[tuple[States, Counts, int], bool] = {}

    def fits(self, states: States) -> bool:
        """Whether there is an answer. Raises: BeyondTables."""
        if self.is_single:
            return self.members[0].view.fits(states[0], self.counts)
        if len(self.order) == 1:
            column = self.order[0]
            for member, state in zip(self.members, states, strict=True):  # any() takes half as long again
                if member.view.lowest(state, column) >= 0:
                    return True
            return False
        return self._greedy(states) is not None or self._may_still_reach(states)

    def first(self, states: States) -> Picks | None:
        """Return the first answer, None where there is none. Raises: BeyondTables."""
        if self.is_single:
            found = self.members[0].view.first(states[0], self.order)
            return None if found is None else tuple((0, position) for position in found)
        greedy = self._greedy(states)
        if greedy is not None:
            return greedy
        return guided(self, states) if self._may_still_reach(states) else None

    def start(self) -> Progress:
        """Return the progress before the first device."""
        return self.counts, 0

    def candidates(self, states: States, turn: int, progress: Progress) -> Iterator[tuple[int, int]]:
        """Yield free devices in listed order, as member and position; of equal ones only the first."""
        column, (_, spent) = self.order[turn], progress
        seen: set[tuple[ComponentView, int, int, int, bool, int]] = set()
        found = []
        for number, member in enumerate(self.members):
            if not self._is_spent(number, column, spent):
                for position in member.view.choices(states[number], column):
                    found.append((member.ranks[position], number, position))
        for _, number, position in sorted(found):
            member = self.members[number]
            group = self.groups[member.group]
            shared = -1 if len(group.members) == 1 else member.group
            spent_here = spent >> member.group & 1
            key = (member.view, states[number], position, shared, group.is_limited, spent_here)
            if key not in seen:
                seen.add(key)
                yield number, position

    def step(self, progress: Progress, turn: int, number: int) -> Progress:
        """Return the progress once a member gives the device of a turn."""
        counts, spent = progress
        return without(counts, self.order[turn]), self._spent_with(number, self.order[turn], spent)

    def reaches(self, states: States, progress: Progress) -> bool:
        """Whether the devices still wanted can be had. Raises: BeyondTables."""
        counts, spent = progress
        key = (states, counts, spent)
        known = self._memo.get(key)
        if known is None:
            if size_of(counts) > LARGEST:
                raise BeyondTables(TOO_MANY_COUNTS)
            known = self._is_enough(states, counts) and self._joins(states, counts, spent)
            if len(self._memo) >= _LIMIT:
                self._memo.clear()
            self._memo[key] = known
        return known

    @property
    def is_single(self) -> bool:
        """Whether one component has to serve all."""
        return len(self.members) == 1 and not self.groups[0].is_limited

    def _may_still_reach(self, states: States) -> bool:
        """Whether there may be an answer after taking the first free devices found none."""
        return len(self.order) > 1 and self.reaches(states, self.start())

    def _greedy(self, states: States) -> Picks | None:
        """Take the first free device each time. If that gives an answer, it is the first answer."""
        current = list(states)
        spent = 0
        picks = []
        for column in self.order:
            pick = self._first_free(current, column, spent)
            if pick is None:
                return None
            number, position = pick
            self._effort.steps += 1
            current[number] = self.members[number].take(current[number], position)
            spent = self._spent_with(number, column, spent)
            picks.append(pick)
        return tuple(picks)

    def _first_free(self, states: Sequence[int], column: int, spent: int) -> tuple[int, int] | None:
        best, best_rank = None, -1
        for number, member in enumerate(self.members):
            if best is not None and member.ranks[0] > best_rank:
                break
            position = member.view.lowest(states[number], column)
            if position >= 0 and not (spent and self._is_spent(number, column, spent)):
                rank = member.ranks[position]
                if best is None or rank < best_rank:
                    best, best_rank = (number, position), rank
        return best

    def _is_spent(self, number: int, column: int, spent: int) -> bool:
        return self.limited[column] and bool(spent >> self.members[number].group & 1)

    def _spent_with(self, number: int, column: int, spent: int) -> int:
        group = self.members[number].group
        is_limited = self.limited[column] and self.groups[group].is_limited
        return spent | 1 << group if is_limited else spent

    def _is_enough(self, states: States, counts: Counts) -> bool:
        """Whether each column has as many free devices as wanted: a cheap check, made first."""
        frees = [member.view.tables.free(state) for member, state in zip(self.members, states, strict=True)]
        for column, count in enumerate(counts):
            pairs = zip(self.members, frees, strict=True)
            if (
                count
                and sum((free & member.view.masks[column]).bit_count() for member, free in pairs) < count
            ):
                return False
        return True

    def _joins(self, states: States, counts: Counts, spent: int) -> bool:
        space = space_of(counts)
        found = NOTHING
        for number, group in enumerate(self.groups):
            found = space.joined(found, self._vectors(group, states, space, bool(spent >> number & 1)))
            if space.holds_all(found):
                return True
        return space.holds_all(found)

    def _vectors(
        self, group: LimitedGroup, states: States, space: VectorSpace, is_spent: bool
    ) -> tuple[Counts, ...]:
        """Return the largest vectors of a group."""
        self._effort.steps += len(group.members)
        if not group.is_limited:
            return self._frontier(group.members[0], states, space)
        found = NOTHING
        for number in group.members:
            found = space.joined(found, self._frontier(number, states, space))
        return space.largest(found & self._allowed(space, is_spent))

    def _frontier(self, number: int, states: States, space: VectorSpace) -> tuple[Counts, ...]:
        return self.members[number].view.frontier(states[number], space.counts)

    def _allowed(self, space: VectorSpace, is_spent: bool) -> int:
        """Return the vectors with at most one device of the limited columns, none if the group is used."""
        bound = zip(space.counts, self.limited, strict=True)
        free = tuple(0 if is_limited else count for count, is_limited in bound)
        allowed = space.raised(NOTHING, free)
        if not is_spent:
            for column, is_limited in enumerate(self.limited):
                if is_limited and space.counts[column]:
                    one = tuple(int(axis == column) or count for axis, count in enumerate(free))
                    allowed |= space.raised(NOTHING, one)
        return allowed
