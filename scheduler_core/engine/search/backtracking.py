"""The backtracking search: finds the first answer in listed order, whatever the claims ask for.

It goes depth first, request by request and device by device. It works on the states of components, not on
ledgers. A failed partial assignment is memoised by its state, whatever the order that led to it. States that
differ only by an exchange of interchangeable parts of the node count as one. After the first failure the
search looks ahead before each request: can every later request still be served? It counts its steps and stops
at the bound.

Where a selector fails on some device, the search skips nothing and does not look ahead, so it raises the
error at the same device as the plain search.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NoReturn

from scheduler_core.base.effort import Effort
from scheduler_core.base.limits import RESULTS
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.search.look_ahead import LookAhead
from scheduler_core.engine.search.match_values import MatchValues
from scheduler_core.engine.search.options import Picked, RequestOption
from scheduler_core.engine.search.partial_assignment import Before, PartialAssignment
from scheduler_core.engine.search.search_keys import SearchKeys
from scheduler_core.engine.search.search_rules import SearchRule
from scheduler_core.engine.search.search_space import SearchSpace

_DEAD: Final = 1 << 16  # failed partial assignments kept; then the memo is cleared
MayFit = Callable[[int, Sequence[int]], bool]
"""Whether the requests from some number on may fit into states of components. Only "no" is certain."""
Fail = Callable[[RequestOption, int], NoReturn]
"""Raises the error of an option's selectors on a device."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A point of the search where one device is chosen.

    Shape: ``option`` the alternative that is tried, -1 before the first; ``left`` how many devices it still
           wants, this one included; ``mine`` the devices that its request has already; ``available`` the
           devices that it could get, ``untried`` those of them not tried yet; ``is_first`` where the
           search may still change the alternative; ``is_closed`` where nothing is left to try.
    """

    request: int
    option: int
    left: int
    is_first: bool
    start: int = 0
    mine: int = 0
    available: int = 0
    untried: int = 0
    is_closed: bool = False
    device: int = -1
    before: Before | None = None


class BacktrackingSearch:
    """One search for the requests of a search space. It starts with a fresh partial assignment.

    Shape: ``is_complete``: all slices of the node's pools are known; ``is_fixed``: no two parts of the node
           are interchangeable.
    """

    def __init__(
        self,
        space: SearchSpace,
        rules: tuple[SearchRule, ...],
        assignment: PartialAssignment,
        *,
        is_complete: bool,
        is_fixed: bool,
        effort: Effort,
        may_fit: MayFit,
        fail: Fail,
        values: MatchValues,
        keys: Callable[[], SearchKeys],
    ) -> None:
        self._space = space
        self._rules = rules
        self._assignment = assignment
        self._is_fixed = is_fixed or space.fails
        self._effort = effort
        self._fail = fail
        self._may_fit = may_fit
        self._sizes = [[_size(one, is_complete=is_complete) for one in options] for options in space.requests]
        self._claims = [options[0].alternative.claim for options in space.requests]
        self._least = [self._least_after(request) for request in range(len(space.requests))]
        self._counts = [0] * len(assignment.used)
        self._varying = tuple(
            sorted(
                {claim for claim, sizes in zip(self._claims, self._sizes, strict=True) if len(set(sizes)) > 1}
            )
        )
        self._values = values
        self._look_ahead = LookAhead(space, rules, self._sizes, self._values)
        self._keys: SearchKeys | None = None
        self._new_keys = keys
        self._dead: set[Hashable] = set()
        self._looks_ahead = False

    def first(self) -> Picked | None:
        """Return the first answer, None where there is none.

        Raises: SelectorError where a selector fails on a device for which it is evaluated; EffortExceeded.
        """
        if not self._space.fails and not self._are_few():
            return None
        turns: list[_Turn] = []
        turn = self._opened(0)
        while turn is not None:
            if self._advance(turn):
                turns.append(turn)
                turn = self._following(turn)
                continue
            is_first_failure = not self._looks_ahead
            self._looks_ahead = not self._space.fails
            self._note_dead(turn)
            if not turns:
                return None
            turn = self._given_back(turns)
            if is_first_failure and self._looks_ahead:
                while turns:
                    turn = self._given_back(turns)
                self._counts = [0] * len(self._counts)
                turn = self._opened(0)  # start again, now with looking ahead
        return self._picked(turns)

    def _are_few(self) -> bool:
        """Whether every request can be served at all, within the limit of results of its claim."""
        least = [0] * len(self._counts)
        for claim, sizes in zip(self._claims, self._sizes, strict=True):
            if not any(sizes):
                return False
            least[claim] += min(size for size in sizes if size)
        return max(least) <= RESULTS

    def _given_back(self, turns: list[_Turn]) -> _Turn:
        """Give back the device that was taken last; return its turn."""
        turn = turns.pop()
        assert turn.before is not None, "a turn on the stack has taken a device"
        self._assignment.give_back(turn.before)
        return turn

    def _picked(self, turns: Sequence[_Turn]) -> Picked:
        devices: list[list[int]] = [[] for _ in self._space.requests]
        options = [0] * len(devices)
        for turn in turns:
            devices[turn.request].append(turn.device)
            options[turn.request] = turn.option
        return Picked(tuple(options), tuple(map(tuple, devices)))

    def _opened(self, request: int) -> _Turn | None:
        """Return the first turn of a request, None after the last request."""
        if request == len(self._space.requests):
            return None
        turn = _Turn(request, -1, 0, is_first=True)
        if self._looks_ahead:
            turn.is_closed = not self._look_ahead.may_serve(self._assignment, request)
        turn.is_closed = turn.is_closed or self._is_dead(turn) or not self._may_go_on(request)
        return turn

    def _may_go_on(self, request: int) -> bool:
        """Whether the requests from this one on may fit. Called only after the first failure."""
        if not self._looks_ahead:
            return True
        self._effort.step()
        return self._may_fit(request, self._assignment.states)

    def _following(self, turn: _Turn) -> _Turn | None:
        """Return the turn after one that has taken a device, None after the last one."""
        if turn.left > 1:
            found = _Turn(turn.request, turn.option, turn.left - 1, is_first=False, start=turn.device + 1)
            found.mine = turn.mine | 1 << turn.device
            found.is_closed = self._is_dead(found)
            if not found.is_closed:
                self._list(found)
            return found
        if not self._are_met(turn.request):
            return _Turn(turn.request, turn.option, 0, is_first=False, is_closed=True)
        return self._opened(turn.request + 1)

    def _are_met(self, request: int) -> bool:
        """Whether all rules hold whose last request is this one."""
        return all(
            rule.is_met(self._assignment.rules[number])
            for number, rule in enumerate(self._rules)
            if self._space.last_request[number] == request
        )

    def _list(self, turn: _Turn) -> None:
        """List the devices that the turn's alternative could get now."""
        option = self._space.requests[turn.request][turn.option]
        turn.available = self._assignment.available(option)
        listed = option.candidates & -(1 << turn.start)
        if option.count is None:
            listed &= -listed  # all devices are wanted: only the next one may be taken
        if turn.is_first and option.rules and not self._space.fails:
            turn.available &= self._values.devices(self._assignment, option, self._rules, turn.request)
        turn.untried = listed & (turn.available | option.failed)
        looks = self._looks_ahead and option.count is not None
        if looks and not self._look_ahead.may_fill(self._assignment, option, turn.untried, turn.left):
            turn.untried = 0

    def _advance(self, turn: _Turn) -> bool:
        """Take the next device that the turn can get; False where there is none."""
        while not turn.is_closed:
            option = self._space.requests[turn.request][turn.option] if turn.option >= 0 else None
            device = -1 if option is None else self._next_device(turn, option)
            if option is not None and device >= 0:
                self._effort.step()
                turn.device, turn.before = device, self._assignment.take(option, device)
                return True
            if not turn.is_first or not self._choose_option(turn):
                return False
        return False

    def _choose_option(self, turn: _Turn) -> bool:
        """Choose the next alternative within the limit of results; False after the last one."""
        sizes, claim = self._sizes[turn.request], self._claims[turn.request]
        if turn.option >= 0:
            self._counts[claim] -= sizes[turn.option]
        for option in range(turn.option + 1, len(sizes)):
            size = sizes[option]
            if size and self._counts[claim] + size + self._least[turn.request] <= RESULTS:
                turn.option, turn.left = option, size
                self._counts[claim] += size
                self._list(turn)
                return True
        turn.option = -1
        return False

    def _next_device(self, turn: _Turn, option: RequestOption) -> int:
        """Return the next device to try, -1 where none is left."""
        while turn.untried:
            if not self._space.fails and option.count is not None and turn.untried.bit_count() < turn.left:
                return -1
            lowest = turn.untried & -turn.untried
            turn.untried ^= lowest
            device = lowest.bit_length() - 1
            if self._space.fails:
                if (option.candidates >> device).bit_count() < turn.left:
                    return -1
                if option.failed & lowest:
                    # As upstream, a device in use is skipped before its selectors are evaluated.
                    if option.count is not None and self._assignment.is_in_use(option, device):
                        continue
                    self._fail(option, device)
            elif (turn.device >= 0 and not self._is_fixed and self._has_twin(turn, device)) or (
                turn.left == 1
                and option.rules
                and not option.alternative.admin_access
                and not self._values.leaves_enough(
                    self._assignment, option, self._rules, device, turn.request + 1
                )
            ):
                continue
            return device
        return -1

    def _has_twin(self, turn: _Turn, device: int) -> bool:
        """Whether an interchangeable earlier device was tried, or will be tried instead."""
        twins = self._space.twins[device] & turn.available
        free = self._assignment.free
        return bool(twins & free if free >> device & 1 else twins & ~free)

    def _least_after(self, request: int) -> int:
        """Return how many devices the later requests of the same claim need at least."""
        claim = self._claims[request]
        return sum(
            min(sizes)
            for other, sizes in zip(self._claims[request + 1 :], self._sizes[request + 1 :], strict=True)
            if other == claim
        )

    def _is_dead(self, turn: _Turn) -> bool:
        return bool(self._dead) and self._key(turn) in self._dead

    def _note_dead(self, turn: _Turn) -> None:
        if turn.is_closed:
            return
        if len(self._dead) >= _DEAD:
            self._dead.clear()
        self._dead.add(self._key(turn))

    def _key(self, turn: _Turn) -> Hashable:
        if self._keys is None:
            self._keys = self._new_keys()
        counts = tuple([self._counts[claim] for claim in self._varying])
        place = (turn.request, -1 if turn.is_first else turn.option, turn.left if not turn.is_first else 0)
        start = turn.start if self._space.fails else 0
        mine = turn.mine & self._space.shareable
        return self._keys.key(self._assignment, turn.request, (*place, start, counts), mine)


def _size(option: RequestOption, *, is_complete: bool) -> int:
    """Return how many devices an option wants; 0 for all devices where slices are missing."""
    if option.count is not None:
        return option.count
    return option.candidates.bit_count() if is_complete else 0
