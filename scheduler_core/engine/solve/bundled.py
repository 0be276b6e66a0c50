"""Bundled subproblems: several sets of devices, each of which must come from one group of components.

Two or more matchAttribute constraints on one attribute lead to such a subproblem. All components with one
value of the attribute are a *group*. The devices that one constraint binds are a *bundle*; they must all come
from one group. Bundles that want the same are counted like equal requests, so each group is visited once,
whatever the number of claims and components. Devices outside of bundles are *loose*.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scheduler_core.base.effort import Effort
from scheduler_core.engine.solve.component_view import Counts, without
from scheduler_core.engine.solve.count_vectors import LARGEST, NOTHING, VectorSpace, size_of, space_of
from scheduler_core.engine.solve.subproblem import (
    TOO_MANY_COUNTS,
    BeyondTables,
    Member,
    Picks,
    Progress,
    States,
    after,
    guided,
)

_LIMIT: Final = 1 << 14  # answers kept per subproblem; then the caches are cleared
_NOWHERE: Final = -1
LOOSE: Final = -1


class BundleProgress(NamedTuple):
    """The progress of a bundled subproblem.

    Shape: ``loose`` the counts still wanted outside of bundles; ``waiting`` how many bundles of each kind
           have no group yet; ``due`` what each group must still give to the bundles in it; ``where`` the
           group of each bundle, -1 for none yet.
    """

    loose: Counts
    waiting: Counts
    due: tuple[Counts, ...]
    where: tuple[int, ...]


class BundledSubproblem:
    """A subproblem with bundles.

    Shape: ``owners`` has the bundle of each turn, LOOSE for none; ``needs`` the counts that each kind of
           bundle wants; ``kinds`` the kind of each bundle; ``groups`` the members of each group, those
           that may hold bundles first: ``holding`` says how many.
    """

    is_single = False

    def __init__(
        self,
        *,
        members: tuple[Member, ...],
        order: tuple[int, ...],
        owners: tuple[int, ...],
        groups: tuple[tuple[int, ...], ...],
        holding: int,
        columns: int,
        effort: Effort,
    ) -> None:
        self.members = members
        self.order = order
        self._owners = owners
        self._groups = groups
        self._holding = holding
        self._effort = effort
        self._nothing: Counts = (0,) * columns
        alternatives = [self._nothing] * (max(owners) + 1)
        self._loose = self._nothing
        for column, owner in zip(order, owners, strict=True):
            if owner == LOOSE:
                self._loose = _plus(self._loose, column)
            else:
                alternatives[owner] = _plus(alternatives[owner], column)
        self._needs = tuple(dict.fromkeys(alternatives))
        self._kinds = tuple(self._needs.index(alternative) for alternative in alternatives)
        self._memo: dict[tuple[States, Progress], bool] = {}
        self._vectors_of: dict[tuple[object, ...], tuple[Counts, ...]] = {}

    def fits(self, states: States) -> bool:
        """Whether there is an answer. Raises: BeyondTables."""
        return self._greedy(states) is not None or self.reaches(states, self.start())

    def first(self, states: States) -> Picks | None:
        """Return the first answer, None where there is none. Raises: BeyondTables."""
        greedy = self._greedy(states)
        if greedy is not None:
            return greedy
        return guided(self, states) if self.reaches(states, self.start()) else None

    def start(self) -> Progress:
        """Return the progress before the first device."""
        waiting = tuple(self._kinds.count(kind) for kind in range(len(self._needs)))
        due = (self._nothing,) * len(self._groups)
        return BundleProgress(self._loose, waiting, due, (_NOWHERE,) * len(self._kinds))

    def step(self, progress: Progress, turn: int, number: int) -> Progress:
        """Return the progress once a member gives the device of a turn."""
        loose, waiting, due, where = progress
        column, owner = self.order[turn], self._owners[turn]
        if owner == LOOSE:
            return BundleProgress(without(loose, column), waiting, due, where)
        group = self.members[number].group
        if where[owner] == _NOWHERE:
            where = (*where[:owner], group, *where[owner + 1 :])
            waiting = without(waiting, self._kinds[owner])
            owed = _sum(due[group], self._needs[self._kinds[owner]])
        else:
            owed = due[group]
        due = (*due[:group], without(owed, column), *due[group + 1 :])
        return BundleProgress(loose, waiting, due, where)

    def candidates(self, states: States, turn: int, progress: Progress) -> Iterator[tuple[int, int]]:
        """Yield free devices in listed order, as member and position; of equal ones only the first.

        Leaves out a device if its group could then not give what it must still give.
        """
        column, owner = self.order[turn], self._owners[turn]
        group = _NOWHERE if owner == LOOSE else progress.where[owner]
        seen: set[tuple[object, ...]] = set()
        found = []
        for number, member in enumerate(self.members):
            is_open = member.group == group or (group == _NOWHERE and self._may_hold(owner, member.group))
            for position in member.view.choices(states[number], column) if is_open else ():
                found.append((member.ranks[position], number, position))
        for _, number, position in sorted(found):
            member = self.members[number]
            is_alone = len(self._groups[member.group]) == 1
            equivalence = member.group < self._holding if is_alone else member.group + 2
            key = (member.view, states[number], position, progress.due[member.group], equivalence)
            if key not in seen:
                seen.add(key)
                then, further = after(self, states, number, position), self.step(progress, turn, number)
                if self._gives(then, member.group, further.due[member.group]):
                    yield number, position

    def reaches(self, states: States, progress: Progress) -> bool:
        """Whether the devices still wanted can be had. Raises: BeyondTables."""
        key = (states, progress)
        known = self._memo.get(key)
        if known is None:
            if len(self._memo) >= _LIMIT:
                self._memo.clear()
            known = self._memo[key] = self._joins(states, progress)
        return known

    def _greedy(self, states: States) -> Picks | None:
        """Take the first device each time. If that gives an answer, it is the first answer."""
        progress, picks = self.start(), []
        for turn in range(len(self.order)):
            pick = next(self.candidates(states, turn, progress), None)
            if pick is None:
                return None
            states, progress = after(self, states, *pick), self.step(progress, turn, pick[0])
            picks.append(pick)
        return tuple(picks)

    def _may_hold(self, owner: int, group: int) -> bool:
        return owner == LOOSE or group < self._holding

    def _joins(self, states: States, progress: BundleProgress) -> bool:
        """Whether the groups suffice. Vectors count loose devices by column, then bundles by kind."""
        counts = (*progress.loose, *progress.waiting)
        if size_of(counts) > LARGEST:
            raise BeyondTables(TOO_MANY_COUNTS)
        space, found = space_of(counts), NOTHING
        for group in range(len(self._groups)):
            found = space.joined(found, self._vectors(states, group, progress.due[group], space))
        return space.holds_all(found)

    def _vectors(self, states: States, group: int, due: Counts, space: VectorSpace) -> tuple[Counts, ...]:
        """Return the largest vectors that a group can give besides what is due, none if it cannot."""
        members = self._groups[group]
        matched = tuple([(self.members[number].view, states[number]) for number in members])
        key = (matched, group < self._holding, due, space.counts)
        known = self._vectors_of.get(key)
        if known is None:
            if len(self._vectors_of) >= _LIMIT:
                self._vectors_of.clear()
            found = self._grow(states, group, due, space.counts, ())
            known = self._vectors_of[key] = tuple(found)
        return known

    def _grow(
        self, states: States, group: int, due: Counts, counts: Counts, head: Counts
    ) -> Iterator[Counts]:
        """Yield vectors that begin with ``head``, all the largest among them."""
        axis, columns = len(head), len(self._nothing)
        if axis == len(counts):
            yield head
            return
        most = counts[axis] if axis < columns or group < self._holding else 0
        for count in range(most, -1, -1):
            vector = (*head, count)
            if self._gives(states, group, self._owed(due, vector)):
                self._effort.steps += 1
                yield from self._grow(states, group, due, counts, vector)
                if axis + 1 == len(counts):
                    return

    def _owed(self, due: Counts, vector: Counts) -> Counts:
        """Return what is due, with some loose devices and bundles added."""
        columns = len(self._nothing)
        owed = list(due)
        for column, count in enumerate(vector[:columns]):
            owed[column] += count
        for kind, count in enumerate(vector[columns:]):
            for column, need in enumerate(self._needs[kind]):
                owed[column] += count * need
        return tuple(owed)

    def _gives(self, states: States, group: int, owed: Counts) -> bool:
        """Whether the components of a group together can give some counts."""
        members = self._groups[group]
        if len(members) == 1:
            return self.members[members[0]].view.fits(states[members[0]], owed)
        if size_of(owed) > LARGEST:
            raise BeyondTables(TOO_MANY_COUNTS)
        space, found = space_of(owed), NOTHING
        for number in members:
            found = space.joined(found, self.members[number].view.frontier(states[number], owed))
            if space.holds_all(found):
                return True
        return space.holds_all(found)


def _plus(counts: Counts, column: int) -> Counts:
    return (*counts[:column], counts[column] + 1, *counts[column + 1 :])


def _sum(one: Counts, other: Counts) -> Counts:
    return tuple([a + b for a, b in zip(one, other, strict=True)])
