"""Constraints as the backtracking search needs them: which device may be added to those chosen so far?

A device *joins* a rule when the search assigns it to a request that the rule binds. A rule has no state of
its own: the search keeps one hashable state per rule. From a state a rule returns the devices that may join,
and the next state. A device that may not join still may not join after further devices have joined.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from typing import Any, Final, Protocol

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.search.attribute_values import AttributeValues
from scheduler_core.tables.bits import positions

State = Any
"""What a rule needs to know about the devices that have joined; hashable."""
_ANY: Final = -1
_LIMIT: Final = 1 << 12  # answers kept per rule; then the cache is cleared


class SearchRule(Protocol):
    """A constraint over devices of a node. A set of devices is an integer with one bit per device.

    Shape: ``start`` is the state before any device has joined; ``seat`` numbers the group of requests that
           a device joins for, 0 where a rule has no groups.
    """

    @property
    def start(self) -> Hashable:
        """Return the state before any device has joined."""
        ...

    def admitted(self, state: State, seat: int) -> int:
        """Return the devices that may join."""
        ...

    def joined(self, state: State, seat: int, device: int) -> State:
        """Return the state after a device has joined. The device must be admitted."""
        ...

    def is_met(self, state: State) -> bool:
        """Whether the rule holds when no more devices join."""
        ...


@dataclass(slots=True, eq=False)
class MatchRule:
    """All devices have a value in common. Its state is the values that all have, as a mask."""

    values: AttributeValues
    start: Hashable = _ANY
    _known: dict[int, int] = field(default_factory=dict)

    def admitted(self, state: State, seat: int) -> int:  # noqa: ARG002 - without groups
        """Return the devices that have one of the common values."""
        if state == _ANY:
            return self.values.present
        found = self._known.get(state)
        if found is None:
            found = _kept(self._known, state, self.values.union(state))
        return found

    def joined(self, state: State, seat: int, device: int) -> State:  # noqa: ARG002
        """Return the values that are still common to all."""
        mine = self.values.of[device]
        return mine if state == _ANY else state & mine

    def is_met(self, state: State) -> bool:  # noqa: ARG002
        """Return True: ``admitted`` ensures that the rule holds."""
        return True


@dataclass(slots=True, eq=False)
class DistinctRule:
    """All devices have values, and no two share one. Its state is the values in use, as a mask."""

    values: AttributeValues
    start: Hashable = 0
    _known: dict[int, int] = field(default_factory=dict)

    def admitted(self, state: State, seat: int) -> int:  # noqa: ARG002
        """Return the devices that have values, none of them in use."""
        found = self._known.get(state)
        if found is None:
            found = _kept(self._known, state, self.values.present & ~self.values.union(state))
        return found

    def joined(self, state: State, seat: int, device: int) -> State:  # noqa: ARG002
        """Return the values in use."""
        return state | self.values.of[device]

    def is_met(self, state: State) -> bool:  # noqa: ARG002
        """Return True: ``admitted`` ensures that the rule holds."""
        return True


@dataclass(slots=True, eq=False)
class SameScopeRule:
    """The devices of every group are in the same set of scopes.

    Its state has, per group, the scopes as a mask and the number of devices.
    Shape: ``sizes`` the devices that each group will have, None where alternatives differ in it;
           ``reachable`` the scopes, as a mask, in which every group could have a device.
    """

    values: AttributeValues
    sizes: Sequence[int | None]
    reachable: int
    _known: dict[tuple[State, int], int] = field(default_factory=dict)

    @property
    def start(self) -> Hashable:
        """Return the state in which no group has a device."""
        return tuple((0, 0) for _ in self.sizes)

    def admitted(self, state: State, seat: int) -> int:
        """Return the devices with which the sets can still become equal."""
        found = self._known.get((state, seat))
        if found is None:
            scopes = [scope for scope in positions(self.reachable) if self._may_add(state, seat, 1 << scope)]
            devices = 0
            for scope in scopes:
                devices |= self.values.holders[scope]
            found = _kept(self._known, (state, seat), devices)
        return found

    def _may_add(self, state: State, seat: int, scope: int) -> bool:
        """Whether every group can still reach all scopes once the group ``seat`` has one more device."""
        after = [
            (mask | scope, count + 1) if i == seat else (mask, count) for i, (mask, count) in enumerate(state)
        ]
        union = 0
        for mask, _ in after:
            union |= mask
        return all(
            size is None or (union & ~mask).bit_count() <= size - count
            for (mask, count), size in zip(after, self.sizes, strict=True)
        )

    def joined(self, state: State, seat: int, device: int) -> State:
        """Return the scopes and numbers of devices of all groups."""
        mask, count = state[seat]
        return (*state[:seat], (mask | self.values.of[device], count + 1), *state[seat + 1 :])

    def is_met(self, state: State) -> bool:
        """Whether the sets are equal."""
        return len({mask for mask, _ in state}) <= 1


@dataclass(slots=True, eq=False)
class FixedRule:
    """The same devices may always join."""

    devices: int
    start: Hashable = 0

    def admitted(self, state: State, seat: int) -> int:  # noqa: ARG002
        """Return the devices."""
        return self.devices

    def joined(self, state: State, seat: int, device: int) -> State:  # noqa: ARG002
        """Return the state, which never changes."""
        return state

    def is_met(self, state: State) -> bool:  # noqa: ARG002
        """Return True: ``admitted`` ensures that the rule holds."""
        return True


def _kept(known: dict[Any, int], key: Hashable, found: int) -> int:
    if len(known) >= _LIMIT:
        known.clear()
    known[key] = found
    return found
