"""Constraints on topology scopes, as rules of the search.

A scope is the value of an attribute, such as a PCIe switch, a root complex or a NUMA node. Takes values and
pools; returns rules. A device without the attribute is in no scope, so it never shares one. Source:
docs/decisions/0020-scopes.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from scheduler_core.model.claim import AllocatedClaim, ExclusiveScope, PreferScope, SameScope
from scheduler_core.model.device import AttributeValue, Device, QualifiedName
from scheduler_core.model.obstacles import ScopeReserved
from scheduler_core.model.pool import Pool
from scheduler_core.rules.constraints import Match, Rule

Scope = AttributeValue


def compared(scopes: Sequence[QualifiedName], devices: Iterable[Device]) -> QualifiedName:
    """Return the first attribute that all devices have; the last one where there is none."""
    seen = tuple(devices)
    found = (one for one in scopes if all(one in device.attributes for device in seen))
    return next(found, scopes[-1])


class SameSets:
    """All groups of requests use the same set of scopes (``SameScope``).

    Shape: ``sizes`` has the number of devices of each group, None where it is not fixed; ``reachable`` are
           the scopes in which every group has a candidate; ``joined`` counts added devices by scope.
    """

    def __init__(
        self,
        constraint: SameScope,
        scope: QualifiedName,
        sizes: Sequence[int | None],
        reachable: frozenset[Scope],
    ) -> None:
        self.scope = scope
        self.reachable = reachable
        self.sizes = tuple(sizes)
        self.joined: tuple[Counter[Scope], ...] = tuple(Counter() for _ in constraint.groups)
        self._constraint = constraint

    def seat(self, request: str) -> Rule:
        """Return the rule for the group that a request belongs to."""
        return _Group(self, self._constraint.group_of(request))

    def is_met(self) -> bool:
        """Whether all groups use the same set of scopes now."""
        return len({frozenset(+scopes) for scopes in self.joined}) <= 1

    def admits(self, device: Device) -> bool:
        """Whether some group may have the device."""
        return device.attributes.get(self.scope) in self.reachable

    def add(self, device: Device) -> None:
        """Add nothing: a device is added to the rule of its group."""

    def remove(self, device: Device) -> None:
        """Remove nothing: a device is removed from the rule of its group."""


class _Group:
    """One group of ``SameSets``."""

    def __init__(self, whole: SameSets, number: int) -> None:
        self._whole = whole
        self._number = number

    def admits(self, device: Device) -> bool:
        """Whether the sets of scopes can still become equal when the device is added."""
        whole, scope = self._whole, device.attributes.get(self._whole.scope)
        if scope is None or scope not in whole.reachable:
            return False
        after = [set(+scopes) for scopes in whole.joined]
        after[self._number].add(scope)
        union = set().union(*after)
        return all(self._can_reach(number, mine, union) for number, mine in enumerate(after))

    def _can_reach(self, number: int, mine: set[Scope], union: set[Scope]) -> bool:
        size = self._whole.sizes[number]
        taken = self._whole.joined[number].total() + (number == self._number)
        return size is None or len(union - mine) <= size - taken

    def add(self, device: Device) -> None:
        """Add the device to its group."""
        self._whole.joined[self._number][device.attributes[self._whole.scope]] += 1

    def remove(self, device: Device) -> None:
        """Remove the device from its group."""
        self._whole.joined[self._number][device.attributes[self._whole.scope]] -= 1


class Preferred:
    """All devices share one scope, the most preferred that is possible (``PreferScope``).

    Shape: ``level`` is the index of the scope that is demanded; the search sets it, from 0 up to ``levels``,
           at which no scope is demanded.
    """

    def __init__(self, constraint: PreferScope) -> None:
        self.levels = len(constraint.scopes)
        self.level = 0
        self._rules: list[Match] = [Match(scope) for scope in constraint.scopes]

    def admits(self, device: Device) -> bool:
        """Whether the device shares the demanded scope with the added devices."""
        return self.level == self.levels or self._rules[self.level].admits(device)

    def add(self, device: Device) -> None:
        """Add the device."""
        if self.level < self.levels:
            self._rules[self.level].add(device)

    def remove(self, device: Device) -> None:
        """Remove the device."""
        if self.level < self.levels:
            self._rules[self.level].remove(device)


class Alone:
    """No rival of another claim is in the scope (``ExclusiveScope``). Shape: ``occupied`` scopes have one."""

    def __init__(self, scope: QualifiedName, occupied: frozenset[Scope]) -> None:
        self._scope = scope
        self._occupied = occupied

    def admits(self, device: Device) -> bool:
        """Whether the device has a scope and no rival is in it."""
        scope = device.attributes.get(self._scope)
        return scope is not None and scope not in self._occupied

    def add(self, device: Device) -> None:
        """Add nothing: devices of one claim do not exclude each other."""

    def remove(self, device: Device) -> None:
        """Remove nothing."""


def alone(constraint: ExclusiveScope, pools: Sequence[Pool], held: Sequence[AllocatedClaim]) -> Alone:
    """Return the rule of an exclusive constraint, given the devices that other claims hold."""
    devices = _by_id(pools)
    scope = compared(constraint.scopes, (one for one in devices.values() if is_rival(constraint, one)))
    rivals = (one for claim in held for one in _held(claim, devices) if is_rival(constraint, one))
    occupied = frozenset(one.attributes[scope] for one in rivals if scope in one.attributes)
    return Alone(scope, occupied)


class Attributed(Protocol):
    """Whatever has attributes: a device, or a device read from tables."""

    @property
    def attributes(self) -> Mapping[QualifiedName, AttributeValue]:
        """Return the attributes by name."""
        ...


def is_rival(constraint: ExclusiveScope, device: Attributed) -> bool:
    """Whether the constraint counts the device as a rival."""
    return constraint.kind is None or device.attributes.get(constraint.kind) in constraint.values


Reserved = Sequence[tuple[ExclusiveScope, QualifiedName, frozenset[Scope], str]]


def reserved(pools: Sequence[Pool], held: Sequence[AllocatedClaim]) -> Reserved:
    """Return the scopes that claims have for themselves: constraint, attribute, values, and the claim."""
    if not any(claim.exclusive for claim in held):
        return ()
    devices = _by_id(pools)
    found = []
    for claim in held:
        for constraint in claim.exclusive:
            mine = [one for one in _held(claim, devices) if is_rival(constraint, one)]
            scope = compared(constraint.scopes, mine)
            values = frozenset(one.attributes[scope] for one in mine if scope in one.attributes)
            found.append((constraint, scope, values, str(claim.ref)))
    return found


def reservation(device: Attributed, reserved_scopes: Reserved) -> ScopeReserved | None:
    """Return the claim that has the device's scope for itself, None where no claim has."""
    for constraint, scope, values, holder in reserved_scopes:
        if is_rival(constraint, device) and device.attributes.get(scope) in values:
            return ScopeReserved(scope, device.attributes[scope], holder)
    return None


def _by_id(pools: Sequence[Pool]) -> Mapping[tuple[str, str, str], Device]:
    return {(pool.id.driver, pool.id.name, one.name): one for pool in pools for one in pool.devices}


def _held(claim: AllocatedClaim, devices: Mapping[tuple[str, str, str], Device]) -> Iterable[Device]:
    for result in claim.results:
        key = (result.device.driver, result.device.pool, result.device.device)
        if not result.admin_access and key in devices:
            yield devices[key]
