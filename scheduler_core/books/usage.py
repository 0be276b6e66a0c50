"""What is in use of one pool: the allocated devices, their shares, and what is left of each source.

The state is the set of allocated devices: every amount follows from it by adding and subtracting, so the
order of allocation never matters. A device that draws from a source and is itself a source of an allocated
device becomes active once, with its full draw, as long as it has users. A shareable device draws once for
all its shares, and the shares consume its own capacity. This module counts; it refuses nothing.
Rules S2 to S7 of docs/semantics.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from copy import copy

from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.compatibility import GroupCounts, are_incompatible
from scheduler_core.model.device import Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.pool import Pool

Place = tuple[SourceName, str]
"""A source and one of its dimensions."""
Share = Mapping[QualifiedName, Quantity]
"""What one claim consumes of a shareable device, by capacity."""


class Usage:
    """What is in use of one pool.

    Shape: ``holders`` has the devices that one claim holds alone, ``shares`` the holders of each share of a
           shareable device; ``users`` counts, per device, the allocated devices that are cut from it;
           ``left`` is what each source has left, per dimension, and may be below zero.
    Units: ``left`` in billionths of the dimension's unit.
    """

    def __init__(self, pool: Pool, features: Features) -> None:
        self.pool = pool
        self.devices: Mapping[DeviceName, Device] = {device.name: device for device in pool.devices}
        # In an invalid pool a device may draw from a source that does not exist: less than zero is left then.
        self.left: defaultdict[Place, int] = defaultdict(int)
        for source, amounts in pool.sources.items():
            for dimension, quantity in amounts.items():
                self.left[source, dimension] = quantity.nano
        self.users: dict[DeviceName, int] = {}
        self.holders: dict[DeviceName, str] = {}
        self.shares: dict[DeviceName, list[str]] = {}
        self._consumed: dict[tuple[DeviceName, QualifiedName], int] = {}
        self.meaning = features.groups
        self._groups = GroupCounts(features.groups)
        self._has_groups = any(draw.groups for device in pool.devices for draw in device.draws)
        self._has_expressions = any(device.only_with is not None for device in pool.devices)
        self._ancestors: dict[DeviceName, tuple[DeviceName, ...]] = {}

    def __copy__(self) -> Usage:
        """Return an independent copy; what follows from the pool alone is shared."""
        twin = object.__new__(Usage)
        twin.pool, twin.devices, twin._ancestors = self.pool, self.devices, self._ancestors
        twin.meaning = self.meaning
        twin._has_groups, twin._has_expressions = self._has_groups, self._has_expressions
        twin.left = self.left.copy()
        twin.users, twin.holders = self.users.copy(), self.holders.copy()
        twin.shares = {name: holders.copy() for name, holders in self.shares.items()}
        twin._consumed = self._consumed.copy()
        twin._groups = copy(self._groups)
        return twin

    def is_used(self, name: DeviceName) -> bool:
        """Whether the device itself is allocated, alone or in shares."""
        return name in self.holders or bool(self.shares.get(name))

    def in_use(self) -> Iterator[DeviceName]:
        """Yield the devices that are allocated, alone or in shares."""
        yield from self.holders
        yield from (name for name, by in self.shares.items() if by and name not in self.holders)

    def holders_of(self, name: DeviceName) -> tuple[str, ...]:
        """Return the holders of the device, whole or in shares; empty where there is none."""
        alone = (self.holders[name],) if name in self.holders else ()
        return (*alone, *self.shares.get(name, ()))

    def enter(self, name: DeviceName, holder: str, share: Share | None) -> None:
        """Count a device, or a share of it, in."""
        if share is None:
            self.holders[name] = holder
            if self.shares.get(name):
                return  # it draws already: shares of it are allocated as well
        else:
            holders = self.shares.setdefault(name, [])
            holders.append(holder)
            self._consume(name, share, 1)
            if len(holders) > 1:
                return
        self._activate(name, 1)
        self._count_users(name, 1)

    def leave(self, name: DeviceName, holder: str, share: Share | None) -> None:
        """Count a device, or a holder's share of it, out. Raises: KeyError where it is not in use."""
        if share is None:
            del self.holders[name]
            if self.shares.get(name):
                return
        else:
            holders = self.shares[name]
            holders.remove(holder)
            self._consume(name, share, -1)
            if holders or name in self.holders:
                return
        self._count_users(name, -1)
        self._activate(name, -1)

    def unconsumed(self, name: DeviceName, capacity: QualifiedName) -> int:
        """Return what shares have left of a device's capacity. Units: billionths of the capacity's unit."""
        return self.devices[name].capacity[capacity].nano - self._consumed.get((name, capacity), 0)

    def group_conflict(self, activated: list[Device]) -> SourceName | None:
        """Return the source on which these devices have no group in common with the ones in use."""
        if not self._has_groups:
            return None
        return self._groups.conflict([draw for device in activated for draw in device.draws])

    def refused_by_expression(self, device: Device) -> DeviceName | None:
        """Return a device in use whose expression refuses this device, or the other way round."""
        if not self._has_expressions:
            return None
        driver = self.pool.id.driver
        return next(
            (one for one in self.in_use() if are_incompatible(driver, device, self.devices[one])), None
        )

    def activated_by(self, name: DeviceName) -> list[Device]:
        """Return the device and the ancestors without a user yet: those become active with it."""
        devices, users = self.devices, self.users
        idle = [devices[parent] for parent in self.ancestors(name) if not users.get(parent)]
        return [devices[name], *idle]

    def ancestors(self, name: DeviceName) -> tuple[DeviceName, ...]:
        """Return every device that ``name`` is cut from, once each, nearest first."""
        known = self._ancestors.get(name)
        if known is None:
            found: dict[DeviceName, None] = {}
            open_names = list(self.devices[name].parents)
            while open_names:
                parent = open_names.pop(0)
                if parent not in found:
                    found[parent] = None
                    open_names.extend(self.devices[parent].parents)
            known = self._ancestors[name] = tuple(found)
        return known

    def _activate(self, name: DeviceName, sign: int) -> None:
        """Draw for the device and the ancestors that become active with it, or give that back."""
        for device in self.activated_by(name):
            if self._has_groups:
                self._groups.enter(device.draws, sign)
            for draw in device.draws:
                for dimension, quantity in draw.amounts.items():
                    self.left[draw.source, dimension] -= sign * quantity.nano

    def _consume(self, name: DeviceName, share: Share, sign: int) -> None:
        for capacity, amount in share.items():
            place = (name, capacity)
            self._consumed[place] = self._consumed.get(place, 0) + sign * amount.nano

    def _count_users(self, name: DeviceName, step: int) -> None:
        """Count the device at every ancestor: an ancestor with users cannot be allocated."""
        for ancestor in self.ancestors(name):
            self.users[ancestor] = self.users.get(ancestor, 0) + step
