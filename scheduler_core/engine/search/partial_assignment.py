"""A partial assignment: the devices in use on a node, including those that the search has assigned so far.

It returns the devices that an alternative could get next. It assigns a device and takes the assignment back;
the last assignment is always taken back first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from scheduler_core.engine.search.options import RequestOption
from scheduler_core.engine.search.search_rules import SearchRule, State
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import Component, Consumed

Conflicts = Callable[[int], int]
"""From a device in use to the devices that may not be in use together with it."""


class Before(NamedTuple):
    """What an assigned device changed, so that the change can be undone."""

    component: int
    state: int
    free: int
    consumed: tuple[int, Consumed | None] | None
    conflicts: int
    rules: tuple[State, ...]
    claim: int
    used: int
    watched: int


class PartialAssignment:
    """The devices in use, and the state of every rule.

    Shape: ``states`` of the node's components; ``free`` the devices that no claim holds and whose sources
           suffice;
           ``consumed`` has, per shareable device in use, how many claims hold it whole and the
           sum of each capacity; ``conflicts`` the devices that conflict with one in use; ``rules`` the state
           of each rule; ``blocked`` the devices that no request may get;
           ``used`` and ``watched`` have, per claim, its exclusive devices and those of its admin access.
    """

    def __init__(
        self,
        space: SearchSpace,
        components: Sequence[Component],
        rules: tuple[SearchRule, ...],
        *,
        blocked: int,
        conflicts: int,
        conflicts_of: Conflicts | None,
    ) -> None:
        self._space = space
        self._rules = rules
        self.blocked = blocked
        self._conflicts_of = conflicts_of
        self.states = [component.state for component in components]
        self.free = 0
        for number, state in enumerate(self.states):
            if space.masks[number]:
                self.free |= space.to_devices(number, space.tables[number].free(state))
        self.consumed = _consumed(space, components) if space.shareable else {}
        self.conflicts = conflicts
        self.rules: tuple[State, ...] = tuple([rule.start for rule in rules])
        self.used = [0] * space.claims
        self.watched = [0] * space.claims

    def available(self, option: RequestOption) -> int:
        """Return the devices that the option could get next."""
        claim, found = option.alternative.claim, option.chosen & ~self.blocked
        for rule, seat in option.rules:
            found &= self.admitted(rule, seat)
        if option.alternative.admin_access:
            return found & ~self.used[claim]
        found &= ~self.watched[claim]
        taken = found & self.free & ~self.conflicts
        return (
            taken | self._shared(found & self._space.shareable & ~self.free, option)
            if option.shares
            else taken
        )

    def admitted(self, rule: int, seat: int = 0) -> int:
        """Return the devices that may join a rule now."""
        return self._rules[rule].admitted(self.rules[rule], seat)

    def _shared(self, devices: int, option: RequestOption) -> int:
        """Return the shareable devices in use that have enough left for the option."""
        found = 0
        for device in positions(devices):
            held = self.consumed.get(device)
            if held is not None and self._has_left(device, held, option.shares[device]):
                found |= 1 << device
        return found

    def _has_left(self, device: int, held: Consumed, share: tuple[int, ...]) -> bool:
        whole, *sums = held
        totals = self._space.totals(device)
        return not whole and all(
            used + more <= total for used, more, total in zip(sums, share, totals, strict=True)
        )

    def is_in_use(self, option: RequestOption, device: int) -> bool:
        """Whether a device is taken as a whole, so that the option cannot get it whatever it is."""
        claim, bit = option.alternative.claim, 1 << device
        if option.alternative.admin_access:
            return bool(self.used[claim] & bit)
        if bit & self._space.shareable:
            held = self.consumed.get(device)
            return held is not None and held[0] > 0
        number, position = self._space.devices[device]
        return bool(self.watched[claim] & bit or self.states[number] >> position & 1)

    def take(self, option: RequestOption, device: int) -> Before:
        """Give an available device to the option; return what ``give_back`` needs."""
        number, position = self._space.devices[device]
        claim, bit = option.alternative.claim, 1 << device
        share = option.shares.get(device) if option.shares else None
        before = Before(
            number, self.states[number], self.free,
            (device, self.consumed.get(device)) if share is not None else None,
            self.conflicts, self.rules, claim, self.used[claim], self.watched[claim],
        )  # fmt: skip
        if option.rules:
            rules = list(self.rules)
            for rule, seat in option.rules:
                rules[rule] = self._rules[rule].joined(rules[rule], seat, device)
            self.rules = tuple(rules)
        if not bit & self._space.shareable:  # a share and admin access do not exclude each other
            self.used[claim] |= bit
            if option.alternative.admin_access:
                self.watched[claim] |= bit
        if option.alternative.admin_access:
            return before
        if share is not None:
            whole, *sums = self.consumed.get(device) or (0, *[0] * len(share))
            self.consumed[device] = (whole, *[used + more for used, more in zip(sums, share, strict=True)])
        if self.free & bit:
            self._occupy(number, position, device)
        return before

    def _occupy(self, number: int, position: int, device: int) -> None:
        space, state = self._space, self.states[number]
        after = space.tables[number].free_after(state, position)
        self.states[number] = state | 1 << position
        self.free = self.free & ~space.masks[number] | space.to_devices(number, after)
        if self._conflicts_of is not None:
            self.conflicts |= self._conflicts_of(device)

    def give_back(self, before: Before) -> None:
        """Give back the device that was taken last."""
        self.states[before.component] = before.state
        self.free, self.conflicts, self.rules = before.free, before.conflicts, before.rules
        self.used[before.claim], self.watched[before.claim] = before.used, before.watched
        if before.consumed is not None:
            device, held = before.consumed
            if held is None:
                self.consumed.pop(device, None)
            else:
                self.consumed[device] = held


def _consumed(space: SearchSpace, components: Sequence[Component]) -> dict[int, Consumed]:
    """Return how much of each shareable device in use is consumed."""
    found: dict[int, Consumed] = {}
    for device in positions(space.shareable):
        number, position = space.devices[device]
        component = components[number]
        if component.state >> position & 1:
            nothing = (0, *[0] * len(space.totals(device)))
            found[device] = component.consumed.get(1 << position, nothing)
    return found
